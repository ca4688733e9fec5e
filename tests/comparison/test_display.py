"""The settings and the table that a person sees."""

import io
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from flexcfl.comparison import Comparison
from flexcfl.comparison.display import settings_rows, show_results
from flexcfl.comparison.plan import plan_runs
from flexcfl.comparison.worker_messages import Done
from flexcfl.experiment.layers import options_layer


def screen_of(comparison: Comparison, **options: Any) -> str:
    screen = io.StringIO()
    show_results(comparison, Console(file=screen, color_system=None, **options), seconds=61)
    return screen.getvalue()


@pytest.mark.parametrize("terminal", [True, False])
def test_the_table_has_mean_and_spread_cost_and_time(
    comparison: Comparison, terminal: bool
) -> None:
    found = replace(comparison, folder=Path("a long name " * 9))
    shown = screen_of(found, force_terminal=terminal, width=90 if terminal else 30)
    rows = {line.split()[0]: line.split() for line in shown.splitlines() if line.strip()}
    numbers = "71.0 ± 1.0 71.0 ± 1.0 x1.00 4.0 7 1.5"
    assert rows["fedavg"] == ["fedavg", *numbers.split()]
    assert rows["flexcfl"][7] == "x1.26"
    told = "in %, over the rounds 3 to 14, in which every method is measured; mean"
    assert told in " ".join(shown.split())
    assert rows["time"] == ["time", "1:01"]
    for name, path in (("folder", ""), ("report", "/report.html")):
        assert f"{name:11}  {found.folder}{path}".rstrip() in shown.splitlines()  # not folded
    if not terminal:
        assert all(line == line.rstrip() for line in shown.splitlines())


def test_a_terminal_of_the_usual_width_shows_every_figure_and_a_narrow_one_the_first(
    comparison: Comparison,
) -> None:
    usual, narrow = (screen_of(comparison, force_terminal=True, width=width) for width in (80, 50))
    for shown, last in ((usual, "seconds"), (narrow, "traffic")):
        header = next(line for line in shown.splitlines() if "best" in line)
        assert header.split()[1:3] == ["final", "best"]
        assert header.split()[-1] == last
        assert "\N{HORIZONTAL ELLIPSIS}" not in shown
        assert "x1.26" in shown


def test_the_first_is_who_is_best_in_the_last_ten_rounds_and_not_in_one(
    comparison: Comparison,
) -> None:
    best = max(comparison.table, key=lambda row: row.best.mean or 0)
    assert best.algorithm == "ifca"  # which is the worst in the end
    screen = io.StringIO()
    bright = Console(file=screen, force_terminal=True, color_system="standard", width=90)
    show_results(comparison, bright, seconds=1)
    found = [line for line in screen.getvalue().splitlines() if "x" in line and "±" in line]
    names = [re.search("ifca|fedavg|flexcfl", line) for line in found]
    assert [name and name[0] for name in names] == ["flexcfl", "fedavg", "ifca"]
    assert ["\x1b[1m" in line for line in found] == [True, False, False]
    rows = re.findall("<tr.*?</tr>", comparison._repr_html_())
    assert [re.findall("<td>(.*?)</td>", row)[:1] for row in rows[1:]] == [
        ["flexcfl"], ["fedavg"], ["ifca"]
    ]  # fmt: skip
    assert ["bold" in row for row in rows[1:]] == [True, False, False]


def test_training_that_diverged_is_told_with_the_algorithm(comparison: Comparison) -> None:
    assert "warning" not in screen_of(comparison)
    first, *others = comparison.runs["fedavg"]
    before = {name: value for name, value in first.items() if name != "diverged"}
    changed: list[Any] = [before, *({**run, "diverged": 7, "attack": None} for run in others)]
    shown = screen_of(replace(comparison, runs={**comparison.runs, "fedavg": changed}))
    told = "training diverged in most rounds with fedavg (2 of 3 seeds): lower the rate (--rate)"
    assert re.search(rf"^warning +{re.escape(told)}$", shown, re.M)


def test_a_single_seed_has_no_spread_and_what_is_not_measured_is_a_dash(
    summary: Callable[..., Any],
) -> None:
    never = Done(summary("ifca", 0, None), np.full(3, np.nan))
    shown = screen_of(Comparison.of({"ifca": [never]}))
    assert "±" not in shown
    assert "ifca" in shown
    assert " - " in shown
    assert "such as 78 of 100: run more rounds" in " ".join(shown.split())
    assert "picture" not in shown


def test_settings_are_told_once_if_all_have_them() -> None:
    runs = plan_runs(["fedavg", "ifca", "flexcfl"], 5, options_layer({"rate": 0.07}, {}))
    rows = {name: text.plain for name, text in settings_rows(runs, jobs=2).items()}
    assert "rate 0.07" in rows["local"]
    assert rows["seeds"] == "0 to 4"
    assert rows["runs"] == "15, 2 at a time"
    assert rows["ifca"].startswith("groups 5")
    assert rows["fedavg"] == "no options"
    assert rows["flexcfl"].partition(", drift ")[2].startswith("label-share, ")
    assert "algorithm" not in rows


def test_a_single_algorithm_can_be_shown_too() -> None:
    runs = plan_runs(["ifca"], 1, options_layer({"groups": 4}, {}))
    rows = {name: text.plain for name, text in settings_rows(runs, jobs=1).items()}
    assert rows["algorithm"].startswith("ifca, groups 4")
    assert rows["runs"] == "1, one by one"
    assert "ifca" not in rows


def test_where_some_attack_the_others_are_told_by_themselves(
    summary: Callable[..., Any], comparison: Comparison
) -> None:
    assert "attack" not in screen_of(comparison)
    curves = [np.array([best, *[0.7] * 10]) for best in (0.8, 0.9)]
    made = [Done(summary("cfl", seed, 0.5), curves[seed] / 2, curves[seed]) for seed in range(2)]
    shown = screen_of(Comparison.of({"cfl": made}))
    told = "without the clients that attack: cfl final 70.0 ± 0.0, best 85.0 ± 7.1"
    assert told in " ".join(shown.split())
