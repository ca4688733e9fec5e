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
from flexcfl.comparison.worker_messages import Done
from flexcfl.record.metrics import MeanDeviation


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=9))
def test_a_figure_is_the_mean_and_the_standard_deviation_of_a_sample(values: list[float]) -> None:
    figure = MeanDeviation.of(values)
    assert figure.mean == pytest.approx(np.mean(values), abs=1e-6)
    assert figure.spread == pytest.approx(np.std(values, ddof=1), abs=1e-6)


@pytest.mark.parametrize(
    ("values", "mean", "spread"),
    [([0.5], 0.5, None), ([None], None, None), ([0.5, None, 0.6], None, None), ([], None, None)],
)
def test_what_is_not_known_of_every_seed_is_not_guessed(
    values: list[float | None], mean: float | None, spread: float | None
) -> None:
    assert MeanDeviation.of(values) == MeanDeviation(mean, spread)


def test_a_row_takes_its_figures_from_where_they_stand(comparison: Comparison) -> None:
    _, fedavg, flexcfl = comparison.table
    assert fedavg.best.mean == pytest.approx(0.71)
    assert fedavg.best.spread == pytest.approx(0.01)
    assert flexcfl.relative_to_fedavg == MeanDeviation(1.26, 0)
    assert (flexcfl.down_bytes.mean, flexcfl.up_bytes.mean) == (3e6, 1e6)
    assert (flexcfl.migrations.mean, flexcfl.seconds.mean) == (7, 1.5)
    assert flexcfl.figures().keys() == {item.name for item in fields(flexcfl)} - {"algorithm"}


def test_scores_are_over_the_rounds_in_which_every_run_is_measured(comparison: Comparison) -> None:
    assert comparison.measured.tolist() == [False, False, *[True] * 12]
    own, compared = comparison.runs["fedavg"][0], comparison.compared["fedavg"][0]
    assert own["accuracy"]["best"] == 0.99  # in a round in which FlexCFL is not measured
    assert compared["accuracy"]["best"] == 0.7
    assert {name for name, value in compared.items() if dict(own)[name] != value} == {"accuracy"}
    one = next(csv.DictReader(io.StringIO(table.csv([compared]))))
    assert one["best"] == "0.7"
    assert float(one["final"]) == pytest.approx(0.7)


def test_a_run_that_is_never_measured_takes_no_round_from_the_others(
    summary: Callable[..., Any],
) -> None:
    never = Done(summary("ifca", 0, None), np.full(4, np.nan))
    late = Done(summary("fedavg", 0, 0.5), np.array([0.9, np.nan, 0.4, 0.5]))
    found = Comparison.of({"ifca": [never], "fedavg": [late]})
    assert [row.final.mean for row in found.table] == [None, pytest.approx(0.6)]
    assert [row.algorithm for row in table.ranked(found.table)] == ["fedavg", "ifca"]


def test_honest_scores_are_over_the_same_rounds(summary: Callable[..., Any]) -> None:
    early = Done(summary("fedavg", 0, 0.6), np.array([0.6, 0.5]), np.array([0.8, 0.7]))
    late = Done(summary("cfl", 0, 0.5), np.array([np.nan, 0.5]), np.array([np.nan, 0.6]))
    found: Any = Comparison.of({"fedavg": [early], "cfl": [late]})
    assert found.compared["fedavg"][0]["honest"]["best"] == 0.7
    assert found.compared["cfl"][0]["honest"]["best"] == 0.6


def test_the_csv_has_a_line_for_each_run(summary: Callable[..., Any]) -> None:
    text = table.csv([summary("fedavg", 0, 0.1 + 0.2), summary("ifca", 1, None, cost=2.0)])
    one, two = csv.DictReader(io.StringIO(text))
    assert list(one) == list(table.CSV_COLUMNS)
    assert (one["algorithm"], float(one["best"]), one["seed"]) == ("fedavg", 0.1 + 0.2, "0")
    assert (one["honest_best"], one["epsilon"]) == ("", "2.5")
    assert (two["best"], two["relative_to_fedavg"], two["migrations"]) == ("", "2.0", "7")


def test_a_comparison_shows_itself_in_a_line(comparison: Comparison) -> None:
    words = "Comparison(final accuracy: flexcfl 90.0%, fedavg 71.0%, ifca 60.0%)"
    assert repr(comparison) == words
    assert comparison.algorithms == ("ifca", "fedavg", "flexcfl")  # as asked for
    assert comparison.seeds == 3
    assert math.isnan(comparison.curves["flexcfl"][0, 0])
