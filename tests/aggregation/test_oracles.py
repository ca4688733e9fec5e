"""Rules against NumPy, SciPy and a plain reading of the papers."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.stats import trim_mean

from flexcfl.aggregation import (
    Clusters,
    GeometricMedian,
    Krum,
    Median,
    MultiKrum,
    Rule,
    TrimmedMean,
    geometric_median,
)
from flexcfl.clustering import measures
from flexcfl.protocol import Vectors

Floats = NDArray[np.float64]

# Whole numbers, whose squares and sums are exact, so that what ties in one way ties in another.
whole = arrays(
    np.float32, st.tuples(st.integers(1, 11), st.integers(1, 5)), elements=st.integers(-50, 50)
)
few = settings(max_examples=25)


def step(rule: Rule, updates: Vectors) -> NDArray[np.float64]:
    number = len(updates)
    found = rule(updates, np.arange(number), np.ones(number), np.random.default_rng(0))
    return found.astype(np.float64)


def drawn(rows: int, columns: int, seed: int) -> Vectors:
    return np.random.default_rng(seed).normal(0, 1, (rows, columns)).astype(np.float32)


@given(whole)
@few
def test_the_median_is_that_of_numpy(updates: Vectors) -> None:
    np.testing.assert_allclose(step(Median(), updates), np.median(updates, axis=0), rtol=1e-12)


# How many rows each end loses: the share rounded up, but always fewer than half of them.
@pytest.mark.parametrize(
    ("trim", "rows", "cut"),
    [
        *((0.2, 4, 1), (0.2, 5, 1), (0.2, 6, 2), (0.3, 7, 3), (0.3, 10, 3), (0.07, 100, 7)),
        *((0.0, 3, 0), (0.01, 1, 0), (0.01, 2, 0), (0.01, 3, 1), (0.49, 2, 0), (0.49, 8, 3)),
    ],
)
def test_the_trimmed_mean_is_that_of_scipy(trim: float, rows: int, cut: int) -> None:
    updates = drawn(rows, 5, seed=rows)
    expected = trim_mean(updates.astype(np.float64), (cut + 0.1) / rows, axis=0)
    np.testing.assert_allclose(step(TrimmedMean(trim), updates), expected, rtol=1e-9)


def test_columns_done_block_by_block_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    updates = drawn(7, 101, seed=0)
    rules: tuple[Rule, ...] = (Median(), TrimmedMean(), MultiKrum(), GeometricMedian(), Clusters())
    at_once = [step(rule, updates) for rule in rules]
    monkeypatch.setattr(measures, "BLOCK", 7 * 10)
    for rule, before in zip(rules, at_once, strict=True):
        np.testing.assert_allclose(step(rule, updates), before, rtol=1e-9, atol=1e-12)


def plain_krum(updates: Vectors, hostile: int) -> list[float]:
    """Return the scores, as the paper writes them, of at least 2 f + 3 updates."""
    scores = []
    for i, own in enumerate(updates):
        apart = [float(((own - other) ** 2).sum()) for j, other in enumerate(updates) if j != i]
        scores.append(sum(sorted(apart)[: len(updates) - hostile - 2]))
    return scores


@given(whole.filter(lambda updates: len(updates) >= 7))
@few
def test_krum_and_multi_krum_are_those_of_the_paper(updates: Vectors) -> None:
    rows, hostile = len(updates), 2
    scores = plain_krum(updates, hostile)
    share = (hostile - 0.5) / rows
    winners = updates[np.equal(scores, min(scores))]
    np.testing.assert_allclose(step(Krum(share), updates), winners.mean(axis=0), rtol=1e-9)
    kept = updates[np.asarray(scores) <= sorted(scores)[rows - hostile - 1]]
    np.testing.assert_allclose(
        step(MultiKrum(share), updates), kept.mean(axis=0, dtype=np.float64), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize(
    ("rows", "krum", "multi_krum"),
    [
        ([4.0], 4.0, 4.0),
        ([0.0, 4.0], 2.0, 2.0),  # neither is nearer to the other
        ([9.0, 0.0, 1.0], 0.5, 0.5),  # two that are nearest to each other, of which neither leads
        ([9.0, 0.0, 1.0, 3.0], 1.0, 0.5),
        # Two attackers who say the same are no neighbourhood: the score takes two neighbours.
        ([0.0, 1.0, 2.0, 50.0, 50.0], 1.0, 1.0),
    ],
)
def test_krum_in_small_groups(rows: list[float], krum: float, multi_krum: float) -> None:
    updates = np.array(rows, np.float32)[:, np.newaxis]
    assert step(Krum(0.4), updates).tolist() == [krum]
    assert step(MultiKrum(0.4), updates).tolist() == [multi_krum]


def summed(updates: Vectors) -> Callable[[Floats], float]:
    return lambda point: float(np.linalg.norm(updates - point, axis=1).sum())


@pytest.mark.parametrize("rows", [3, 4, 5, 8, 13])
def test_the_geometric_median_is_the_best_that_scipy_finds(rows: int) -> None:
    for seed in range(4):
        updates = drawn(rows, 3, seed) * np.float32(10.0) ** (seed - 2)
        updates[0] *= 20
        best = minimize(summed(updates), updates.mean(axis=0), method="Powell", tol=1e-12)
        found = geometric_median(updates, iterations=2000)
        assert summed(updates)(found) <= best.fun * (1 + 1e-6)
        # What a run uses is no search to the last digit.
        assert summed(updates)(step(GeometricMedian(), updates)) <= best.fun * (1 + 1e-3)


def test_more_iterations_come_nearer_and_smoothing_keeps_from_the_end() -> None:
    updates = drawn(6, 3, seed=5)
    apart = [summed(updates)(geometric_median(updates, number)) for number in (1, 4, 16, 64)]
    assert apart == sorted(apart, reverse=True)
    # All distances count the same, which is the mean.
    close = np.array([[0.0, 0], [1, 0], [0, 1]], np.float32)
    mean = geometric_median(close, iterations=9, smoothing=1.0)
    np.testing.assert_allclose(mean, [1 / 3, 1 / 3], rtol=1e-12)


def test_the_geometric_median_of_a_majority_that_agrees_is_with_it() -> None:
    updates = np.array([[1, 2], [1, 2], [1, 2], [7, 9], [-8, 1]], np.float32)
    assert geometric_median(updates).tolist() == [1.0, 2.0]


def test_the_geometric_median_keeps_its_digits_beside_what_is_far_away() -> None:
    updates = drawn(7, 4, seed=2)
    far = np.array([[1, 1, 1, 1], [-1, 1, 1, -1]], np.float32)
    found = [
        geometric_median(np.concatenate([updates, far * np.float32(length)]), iterations=200)
        for length in (1e7, 3e38)
    ]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5)


FORWARD, BACKWARD, ASIDE = [1.0, 0.1, 0.0], [-1.0, 0.1, 0.0], [-0.1, 0.0, 1.0]


@pytest.mark.parametrize(
    ("updates", "kept"),
    [
        ([FORWARD] * 3 + [BACKWARD] * 2, [0, 1, 2]),
        ([BACKWARD] * 3 + [FORWARD] * 4, [3, 4, 5, 6]),
        ([BACKWARD, ASIDE, FORWARD, FORWARD, FORWARD], [2, 3, 4]),  # attackers are not alike
        ([FORWARD] * 2 + [BACKWARD] * 2, [0, 1, 2, 3]),  # no majority
        ([FORWARD, BACKWARD], [0, 1]),
        ([FORWARD] * 2 + [BACKWARD] + [[0.0, 0, 0]], [0, 1, 2, 3]),  # who has no direction links
        # The last is nearer to the first two, who would be no majority without it.
        ([FORWARD] * 2 + [BACKWARD] * 2 + [[0.05, -1, 0]], [0, 1, 4]),
    ],
)
def test_clusters_keep_the_majority_that_hangs_together(
    updates: list[list[float]], kept: list[int]
) -> None:
    lengths = np.arange(1, len(updates) + 1)  # which do not matter to directions
    group = (np.array(updates) * lengths[:, np.newaxis]).astype(np.float32)
    np.testing.assert_allclose(step(Clusters(), group), group[kept].mean(axis=0), rtol=1e-6)


def test_the_cosine_says_how_far_apart_clusters_must_be() -> None:
    updates = np.array([[1, 0], [1, 0], [1, 1]], np.float32)  # the cosine of the last is 0.71
    assert step(Clusters(0.7), updates)[1] == pytest.approx(1 / 3)
    assert step(Clusters(0.72), updates)[1] == 0
