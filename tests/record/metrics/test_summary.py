"""A run in a few figures."""

import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexcfl.record.metrics import (
    Accuracy,
    MeanVariance,
    final,
    measured_by_all,
    rounds_text,
    rounds_to,
)

FRACTIONS = st.floats(0, 1)
CURVES = st.lists(st.none() | FRACTIONS, max_size=40)


def test_accuracy_of_a_run_evaluated_every_other_round() -> None:
    curve = [value for n in range(1, 25) for value in (None, n / 100)]
    summed = Accuracy.of(curve)
    assert summed.best == 0.24
    assert summed.final == pytest.approx(statistics.fmean(n / 100 for n in range(20, 25)))
    assert summed.median == pytest.approx(0.125)


@given(CURVES)
def test_accuracy_against_the_standard_library(curve: list[float | None]) -> None:
    values = [value for value in curve if value is not None]
    summed = Accuracy.of(curve)
    if not values:
        assert summed == Accuracy(None, None, None)
    else:
        assert summed.best == max(values)
        assert summed.median == pytest.approx(statistics.median(values))
        late = [value for value in curve[-10:] if value is not None]
        expected = pytest.approx(statistics.fmean(late)) if late else None
        assert summed.final == final(curve) == expected


@given(st.lists(CURVES, min_size=1, max_size=4))
def test_runs_are_summed_up_over_the_rounds_that_all_of_them_have(
    curves: list[list[float | None]],
) -> None:
    having = [curve for curve in curves if any(value is not None for value in curve)]
    length = min(map(len, having), default=0)
    shared = [n for n in range(length) if all(curve[n] is not None for curve in having)]
    rounds = measured_by_all(curves)
    assert rounds.nonzero()[0].tolist() == shared
    for curve in curves:
        summed = Accuracy.of(curve, rounds)
        if curve not in having or not shared:
            assert summed == Accuracy(None, None, None)
            continue
        values = {n: curve[n] or 0.0 for n in shared}
        last = [value for n, value in values.items() if n > shared[-1] - 10]
        assert summed.best == max(values.values())
        assert summed.final == pytest.approx(statistics.fmean(last))
        assert summed.first_round == shared[0] + 1


@pytest.mark.parametrize(
    ("rounds", "methods", "words"),
    [
        ([0, 1, 1], 3, "over the rounds 2 to 3, in which every method is measured"),
        ([1, 0, 1], 1, "over 2 of the rounds 1 to 3, in which it is measured"),
        ([0, 1, 0], 2, "over round 2, the only one in which every method is measured"),
        ([0, 0], 2, "over no round, because there is none in which every method is measured"),
        ([], 1, "over no round, because there is none in which it is measured"),
    ],
)
def test_rounds_are_described_in_words(rounds: list[int], methods: int, words: str) -> None:
    assert rounds_text(np.array(rounds, dtype=np.bool_), methods) == words


@given(CURVES)
def test_spread_against_the_standard_library(curve: list[float | None]) -> None:
    values = [value for value in curve if value is not None]
    spread = MeanVariance.of(curve)
    if not values:
        assert spread == MeanVariance(None, None)
    else:
        assert spread.mean == pytest.approx(statistics.fmean(values))
        assert spread.variance == pytest.approx(statistics.pvariance(values), abs=1e-12)


def test_rounds_to_names_the_first_round_that_reached_each_threshold() -> None:
    curve = [None, 0.5, 0.85, None, 0.84, 0.91]
    assert rounds_to(curve) == {"0.8": 3, "0.85": 3, "0.9": 6, "0.95": None}
    assert rounds_to([]) == {"0.8": None, "0.85": None, "0.9": None, "0.95": None}
