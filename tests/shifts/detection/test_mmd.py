"""The detector of looks: its features, its estimates, its false alarms, and what it catches."""

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics.pairwise import rbf_kernel
from threadpoolctl import threadpool_limits

from flexcfl.data import load_federation
from flexcfl.shifts.detection import MMD, LabelShare, Samples
from flexcfl.shifts.detection.mmd import embedded, traces

Side = list[tuple[NDArray[np.float32], NDArray[np.int64]]]
LABELS = 4


def samples(side: Side, labels: int = LABELS) -> Samples:
    counts = np.stack([np.bincount(y, minlength=labels) for _, y in side])
    return Samples(counts, counts.sum(axis=1), lambda client: side[client])


def share(kept: Side, now: Side, detector: MMD | LabelShare | None = None) -> float:
    """Return the share of clients that raise a verdict."""
    judge = detector or MMD()
    return float(judge.drifted(*(judge.profiles(samples(side)) for side in (kept, now))).mean())


def clouds(
    sizes: list[int], seed: int, clients: int = 300, offset: float = 0.0, names: str = "0123"
) -> Side:
    """Draw ``sizes[l]`` examples of each label around a centre of its own, moved by ``offset``."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(LABELS), sizes)
    centres = np.random.default_rng(9).normal(size=(LABELS, 40))
    called = np.array([int(name) for name in names])[y]
    draws = rng.normal(size=(clients, len(y), 40)) + centres[y]
    draws[..., :10] += offset
    return [((0.4 * x).astype(np.float32), called) for x in draws]


def test_features_stand_for_a_gaussian_kernel_of_what_is_clipped_and_scaled() -> None:
    x = np.random.default_rng(0).normal(size=(20, 3, 5)).astype(np.float32)
    x[3] = 0
    flat = np.clip(x.reshape(20, 15), -1, 1)
    flat /= np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), 1e-9)
    for bandwidth in (0.5, 1.0, 2.0):
        points = embedded(x, 20_000, bandwidth)
        expected = rbf_kernel(flat, gamma=1 / (2 * bandwidth**2))
        np.testing.assert_allclose(points @ points.T, expected, atol=0.05)
    assert np.array_equal(embedded(x, 64, 1.0), embedded(x, 64, 1.0))


@pytest.mark.parametrize(("examples", "dimensions"), [(3, 4), (6, 4), (10, 30), (40, 6)])
def test_the_traces_are_unbiased_for_few_and_for_many_examples(
    examples: int, dimensions: int
) -> None:
    rng = np.random.default_rng(0)
    scales = np.linspace(0.5, 2, dimensions)
    found = []
    for _ in range(4000):
        x = rng.normal(size=(examples, dimensions)) * scales
        found.append(traces(x - x.mean(axis=0)))
    expected = [np.sum(scales**2), np.sum(scales**4)]
    np.testing.assert_allclose(np.mean(found, axis=0), expected, rtol=0.06)


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [[2, 1, 0, 0], [5, 4, 0, 0], [1, 2, 3, 4], [60, 20, 0, 5]])
@pytest.mark.parametrize("growth", [1, 3])
def test_other_examples_of_the_same_kind_raise_few_alarms(sizes: list[int], growth: int) -> None:
    kept, now = clouds(sizes, 0), clouds([growth * size for size in sizes], 1)
    assert share(kept, now, MMD(level=0.1, least=0.0)) <= 0.1
    assert share(kept, now) <= 0.05


def test_more_of_the_same_raises_hardly_any() -> None:
    now = clouds([20, 12, 0, 0], 0)
    kept = [(x[::4], y[::4]) for x, y in now]
    assert share(kept, now, MMD(least=0.0)) <= 0.01


def test_how_common_a_label_is_has_no_say() -> None:
    kept, now = clouds([30, 6, 0, 0], 0), clouds([6, 30, 0, 0], 1)
    assert share(kept, now) <= 0.05
    assert share(kept, now, LabelShare()) == 1


def test_examples_of_other_looks_are_seen_where_labels_tell_nothing() -> None:
    kept, now = clouds([6, 6, 0, 0], 0), clouds([6, 6, 0, 0], 0, offset=4.0)
    assert share(kept, now) >= 0.95
    assert share(kept, now, LabelShare()) == 0


@pytest.mark.parametrize("names", ["1023", "3210"])
def test_labels_of_another_meaning_are_seen(names: str) -> None:
    kept, now = clouds([6, 6, 0, 0], 0), clouds([6, 6, 0, 0], 0, names=names)
    assert share(kept, now) >= 0.95


def test_a_few_examples_of_a_new_label_are_no_drift() -> None:
    kept, now = clouds([95, 0, 0, 0], 0, clients=50), clouds([95, 9, 0, 0], 1, clients=50)
    assert share(kept, now) <= 0.05
    assert share(kept, now, MMD(fraction=0.05)) == 1


def test_examples_that_are_all_the_same_can_still_change() -> None:
    x, y = np.ones((4, 7), np.float32), np.zeros(4, np.int64)
    x[:, :3] = 0
    one, other = [(x, y)], [(x[:, ::-1].copy(), y)]
    assert share(one, other, MMD(least=0.0)) == 1
    assert share(one, [(np.repeat(x, 2, axis=0), np.repeat(y, 2))], MMD(least=0.0)) == 0


def test_turned_images_are_seen_on_real_digits() -> None:
    federation = load_federation("digits")
    kept = [(federation.x[rows], federation.y[rows]) for rows in federation.train]
    detector = MMD()
    before = detector.profiles(samples(kept, federation.classes))
    caught = []
    for turns in (1, 2, 3):
        turned = [(np.rot90(x, turns, axes=(-2, -1)), y) for x, y in kept]
        now = detector.profiles(samples(turned, federation.classes))
        caught.append(detector.drifted(before, now).mean())
    assert np.mean(caught) >= 0.8


def test_the_number_of_threads_changes_no_bit_of_a_profile() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(300, 28, 28)).astype(np.float32), rng.integers(3, size=300)
    samples = Samples(np.bincount(y)[np.newaxis], np.array([300]), lambda _: (x, y))
    profiles = []
    for threads in (1, 2):
        with threadpool_limits(limits=threads):
            profiles.append(MMD().profiles(samples))
    assert np.array_equal(profiles[0], profiles[1])
