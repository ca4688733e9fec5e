"""The settings and the table that a person sees."""

import io
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from flexcfl.comparison import Comparison, table
from flexcfl.comparison.display import settings, show_results
from flexcfl.comparison.plan import planned
from flexcfl.runner.layers import spoken


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
    assert rows["time"] == ["time", "1:01"]
    for name, path in (("folder", ""), ("picture", "/comparison.svg"), ("report", "/report.html")):
        assert f"{name:11}  {found.folder}{path}".rstrip() in shown.splitlines()  # not folded
    if not terminal:
        assert all(line == line.rstrip() for line in shown.splitlines())


def test_a_terminal_of_the_usual_width_shows_every_figure_and_a_narrow_one_the_first(
    comparison: Comparison,
) -> None:
    usual, narrow = (screen_of(comparison, force_terminal=True, width=width) for width in (80, 50))
    for shown, last in ((usual, "seconds"), (narrow, "transfers")):
        header = next(line for line in shown.splitlines() if "best" in line)
        assert header.split()[-1] == last
        assert "\N{HORIZONTAL ELLIPSIS}" not in shown
        assert "x1.26" in shown


def test_training_that_diverged_is_told_with_the_algorithm(comparison: Comparison) -> None:
    assert "warning" not in screen_of(comparison)
    first, *others = comparison.runs["fedavg"]
    before = {name: value for name, value in first.items() if name != "diverged"}
    changed = [before, *({**run, "diverged": 7, "attack": None} for run in others)]
    shown = screen_of(replace(comparison, runs={**comparison.runs, "fedavg": changed}))
    told = "training diverged in most rounds with fedavg (2 of 3 seeds): lower the rate (--rate)"
    assert re.search(rf"^warning +{re.escape(told)}$", shown, re.M)


def test_a_single_seed_has_no_spread_and_what_is_not_measured_is_a_dash(
    summary: Callable[..., dict[str, Any]],
) -> None:
    runs = {"ifca": [summary("ifca", 0, None)]}
    shown = screen_of(Comparison([table.row("ifca", runs["ifca"])], runs, {}, None))
    assert "±" not in shown
    assert "ifca" in shown
    assert " - " in shown
    assert "such as 78 of 100: run more rounds" in " ".join(shown.split())
    assert "picture" not in shown


def test_settings_are_told_once_if_all_have_them() -> None:
    runs = planned(["fedavg", "ifca", "flexcfl"], 5, spoken({"rate": 0.07}, {}))
    rows = {name: text.plain for name, text in settings(runs, jobs=2).items()}
    assert "rate 0.07" in rows["local"]
    assert rows["seeds"] == "0 to 4"
    assert rows["runs"] == "15, 2 at a time"
    assert rows["ifca"].startswith("groups 5")
    assert rows["fedavg"] == "no options"
    assert rows["flexcfl"].partition(", drift ")[2].startswith("label-share, ")
    assert "algorithm" not in rows


def test_a_single_algorithm_can_be_shown_too() -> None:
    runs = planned(["ifca"], 1, spoken({"groups": 4}, {}))
    rows = {name: text.plain for name, text in settings(runs, jobs=1).items()}
    assert rows["algorithm"].startswith("ifca, groups 4")
    assert rows["runs"] == "1, one by one"
    assert "ifca" not in rows


def test_where_some_attack_the_others_are_told_by_themselves(
    summary: Callable[..., dict[str, Any]], comparison: Comparison
) -> None:
    assert "attack" not in screen_of(comparison)
    made = [summary("cfl", seed, 0.5) for seed in range(2)]
    for each, best in zip(made, (0.8, 0.9), strict=True):
        each["honest"] = {"best": best, "final": 0.7, "median": 0.6}
    shown = screen_of(Comparison([table.row("cfl", made)], {"cfl": made}, {}, None))
    assert "without the clients that attack: cfl 85.0 ± 7.1, final 70.0 ± 0.0" in shown
