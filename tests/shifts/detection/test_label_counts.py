"""Label detectors against SciPy, and what must hold for any label counts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.stats import chi2_contingency, wasserstein_distance

from flexcfl.shifts.detection import LabelShare, Samples, Wasserstein, WassersteinCounts
from flexcfl.shifts.detection.label_counts import homogeneity

Counts = NDArray[np.int64]

tables = st.integers(1, 6).flatmap(
    lambda labels: arrays(np.int64, (2, 5, labels), elements=st.integers(0, 40))
)


def samples(rows: Counts, first: int = 50) -> Samples:
    def no_examples(client: int) -> tuple[NDArray[np.float32], Counts]:
        raise AssertionError("a detector of labels looks at counts alone")

    return Samples(rows, np.full(len(rows), first), no_examples)


def verdicts(
    detector: LabelShare | Wasserstein | WassersteinCounts, kept: Counts, now: Counts
) -> list[bool]:
    both = (detector.profiles(samples(rows)) for rows in (kept, now))
    return list(map(bool, detector.drifted(*both)))


def p_value(kept: Counts, now: Counts) -> float:
    there = kept + now > 0
    if there.sum() < 2 or not kept.any() or not now.any():
        return 1.0
    return float(chi2_contingency(np.stack([kept, now])[:, there], correction=False).pvalue)


def half_l1(kept: Counts, now: Counts) -> float:
    if not kept.any() or not now.any():
        return 0.0
    return float(np.abs(now / now.sum() - kept / kept.sum()).sum() / 2)


@given(tables)
def test_the_chi_square_test_is_scipys(pair: Counts) -> None:
    kept, now = pair
    expected = [p_value(*rows) for rows in zip(kept, now, strict=True)]
    np.testing.assert_allclose(homogeneity(kept * 1.0, now * 1.0), expected, rtol=1e-9, atol=1e-300)


@given(tables, st.sampled_from([0.05, 0.123, 0.31]), st.sampled_from([0.0123, 0.0512]))
def test_label_share_asks_for_both_a_share_and_a_significant_one(
    pair: Counts, fraction: float, level: float
) -> None:
    kept, now = pair
    for one, other, verdict in zip(
        kept, now, verdicts(LabelShare(fraction, level), kept, now), strict=True
    ):
        share = half_l1(one, other)
        if abs(share - fraction) > 1e-12:
            assert verdict == (share > fraction and p_value(one, other) < level)


@given(tables, st.sampled_from([0.0123, 0.2345, 1.0512]))
def test_wasserstein_is_scipys_over_the_label_axis(pair: Counts, threshold: float) -> None:
    kept, now = pair
    labels = np.arange(kept.shape[1])
    for one, other, verdict in zip(
        kept, now, verdicts(Wasserstein(threshold), kept, now), strict=True
    ):
        there = one.any() and other.any()
        distance = wasserstein_distance(labels, labels, one, other) if there else 0.0
        if abs(distance - threshold) > 1e-9:
            assert verdict == (distance > threshold)


@given(tables, st.sampled_from([0.0, 0.2, 0.413]))
def test_wasserstein_counts_is_scipys_of_counts_as_samples(pair: Counts, fraction: float) -> None:
    kept, now = pair
    limit = fraction * 50 / kept.shape[1]
    for one, other, verdict in zip(
        kept, now, verdicts(WassersteinCounts(fraction), kept, now), strict=True
    ):
        distance = wasserstein_distance(one, other)
        if abs(distance - limit) > 1e-9:
            assert verdict == (distance > limit)


@given(tables, st.integers(1, 1000))
def test_pure_growth_is_no_drift_of_proportions_at_any_threshold(pair: Counts, factor: int) -> None:
    strictest = LabelShare(fraction=0.0, level=0.999), Wasserstein(threshold=0.0)
    for detector in strictest:
        assert not any(verdicts(detector, pair[0], pair[0] * factor))
        assert not any(verdicts(detector, pair[0] * factor, pair[0]))


@given(tables)
def test_label_share_does_not_care_which_label_is_which_or_what_came_first(
    pair: Counts,
) -> None:
    order = np.random.default_rng(pair.sum()).permutation(pair.shape[-1])
    expected = verdicts(LabelShare(), *pair)
    assert verdicts(LabelShare(), pair[0][:, order], pair[1][:, order]) == expected
    assert verdicts(LabelShare(), pair[1], pair[0]) == expected


@pytest.mark.parametrize("size", [10, 30, 70, 10**6])
def test_a_change_of_exactly_the_fraction_does_not_exceed_it(size: int) -> None:
    kept, now = np.array([[size, 0]]), np.array([[size * 9 // 10, size // 10]])
    assert verdicts(LabelShare(fraction=0.1, level=0.999), kept, now) == [False]
    assert verdicts(Wasserstein(threshold=0.1), kept, now) == [False]
    assert verdicts(LabelShare(fraction=0.0999, level=0.999), kept, now) == [True]
    assert verdicts(Wasserstein(threshold=0.0999), kept, now) == [True]


def test_few_examples_that_differ_by_chance_are_no_drift() -> None:
    few, many = np.array([[1, 3]]), np.array([[3, 1]])
    assert verdicts(LabelShare(), few, many) == [False]
    assert verdicts(LabelShare(), few * 10, many * 10) == [True]
    assert verdicts(Wasserstein(), few, many) == [True]
