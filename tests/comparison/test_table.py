"""Means and spreads over seeds, against NumPy."""

import csv
import io
import math
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexcfl.comparison import Comparison, table
from flexcfl.metrics import Figure


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=9))
def test_a_figure_is_the_mean_and_the_standard_deviation_of_a_sample(values: list[float]) -> None:
    figure = Figure.of(values)
    assert figure.mean == pytest.approx(np.mean(values), abs=1e-6)
    assert figure.spread == pytest.approx(np.std(values, ddof=1), abs=1e-6)


@pytest.mark.parametrize(
    ("values", "mean", "spread"),
    [([0.5], 0.5, None), ([None], None, None), ([0.5, None, 0.6], None, None), ([], None, None)],
)
def test_what_is_not_known_of_every_seed_is_not_guessed(
    values: list[float | None], mean: float | None, spread: float | None
) -> None:
    assert Figure.of(values) == Figure(mean, spread)


def test_a_row_takes_its_figures_from_where_they_stand(comparison: Comparison) -> None:
    fedavg, flexcfl = comparison.table
    assert fedavg.best.mean == pytest.approx(0.71)
    assert fedavg.best.spread == pytest.approx(0.01)
    assert flexcfl.relative_to_fedavg == Figure(1.26, 0)
    assert (flexcfl.down_bytes.mean, flexcfl.up_bytes.mean) == (3e6, 1e6)
    assert (flexcfl.migrations.mean, flexcfl.seconds.mean) == (7, 1.5)
    assert flexcfl.figures().keys() == {item.name for item in fields(flexcfl)} - {"algorithm"}


def test_the_csv_has_a_line_for_each_run(summary: Callable[..., dict[str, Any]]) -> None:
    text = table.csv([summary("fedavg", 0, 0.1 + 0.2), summary("ifca", 1, None, cost=2.0)])
    one, two = csv.DictReader(io.StringIO(text))
    assert list(one) == list(table.COLUMNS)
    assert (one["algorithm"], float(one["best"]), one["seed"]) == ("fedavg", 0.1 + 0.2, "0")
    assert (one["honest_best"], one["epsilon"]) == ("", "2.5")
    assert (two["best"], two["relative_to_fedavg"], two["migrations"]) == ("", "2.0", "7")


def test_a_comparison_shows_itself_in_a_line(comparison: Comparison) -> None:
    assert repr(comparison) == "Comparison(best accuracy: fedavg 71.0%, flexcfl 90.0%)"
    assert comparison.algorithms == ("fedavg", "flexcfl")
    assert comparison.seeds == 3
    assert math.isnan(comparison.curves["flexcfl"][0, 0])
