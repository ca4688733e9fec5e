"""A run in a few figures."""

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexcfl.metrics import Accuracy, Spread, final, rounds_to

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


@given(CURVES)
def test_spread_against_the_standard_library(curve: list[float | None]) -> None:
    values = [value for value in curve if value is not None]
    spread = Spread.of(curve)
    if not values:
        assert spread == Spread(None, None)
    else:
        assert spread.mean == pytest.approx(statistics.fmean(values))
        assert spread.variance == pytest.approx(statistics.pvariance(values), abs=1e-12)


def test_rounds_to_names_the_first_round_that_reached_each_threshold() -> None:
    curve = [None, 0.5, 0.85, None, 0.84, 0.91]
    assert rounds_to(curve) == {"0.8": 3, "0.85": 3, "0.9": 6, "0.95": None}
    assert rounds_to([]) == {"0.8": None, "0.85": None, "0.9": None, "0.95": None}
