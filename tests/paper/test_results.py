"""The files in results: their commands ask for what they show, and tables follow from runs."""

import csv
import re
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import pytest

from flexcfl.paper.cells import Cell
from flexcfl.paper.results import finished_results, over_shared_rounds
from flexcfl.paper.tables import shifted
from flexcfl.paper.targets import TARGETS
from tests.paper.commands import asked_by

RESULTS = Path(__file__).parents[2] / "results"
COMMAND = re.compile("`(flexcfl reproduce [^`]+)`")
RUN = sorted(path.name.removesuffix("-runs.csv") for path in RESULTS.glob("*-runs.csv"))
SCORED = ("algorithms", "table3", "table4")


def commands(name: str) -> list[str]:
    """Return the commands that a table ends with, or that a picture has in its description."""
    table, picture = RESULTS / f"{name}.md", RESULTS / f"{name}.svg"
    text = (table if table.is_file() else picture).read_text("utf-8")
    return COMMAND.findall(text)


def cells(name: str) -> list[Cell]:
    return [cell for command in commands(name) for cell in asked_by(command).cells()]


def lines(name: str) -> list[dict[str, str]]:
    with (RESULTS / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("name", TARGETS)
def test_every_target_has_a_result_that_says_how_it_was_made(name: str) -> None:
    made = [asked_by(command) for command in commands(name)]
    assert {asked.target for asked in made} == {name}


@pytest.mark.parametrize("name", RUN)
def test_the_commands_ask_for_exactly_the_runs_that_are_shown(name: str) -> None:
    asked = [(cell.part.setting, cell.part.name, cell.rounds, cell.seed) for cell in cells(name)]
    shown = [
        (line["setting"], line["method"], int(line["rounds"]), int(line["seed"]))
        for line in lines(f"{name}-runs.csv")
    ]
    assert sorted(asked) == sorted(shown)


@pytest.mark.parametrize("name", SCORED)
def test_every_figure_of_a_table_is_the_mean_of_its_runs(name: str) -> None:
    runs: dict[tuple[str, str, int], list[dict[str, str]]] = {}
    for line in lines(f"{name}-runs.csv"):
        key = (line["setting"], line["method"], int(line["rounds"]))
        runs.setdefault(key, []).append(line)
    figures = {
        (line["block"], line["column"], line["figure"]): float(line["value"])
        for line in lines(f"{name}.csv")
    }
    expected = {}
    for cell in {Cell(each.part, rounds=each.rounds) for each in cells(name)}:
        mine = runs[cell.part.setting, cell.part.name, cell.rounds]
        for figure, column in (("ours", "best"), ("final", "final")):
            block = next(found for found, *_ in figures if _names(found, cell, len(mine)))
            mean = 100 * fmean(float(line[column]) for line in mine)
            expected[block, cell.part.method.short, figure] = mean
    shown = {key: value for key, value in figures.items() if key[2] in ("ours", "final")}
    assert shown == pytest.approx(expected)


def _names(block: str, cell: Cell, seeds: int) -> bool:
    """Whether a block of a table is of a cell."""
    words: Sequence[str] = [cell.part.row.label, *shifted(cell.part.shift, cell.rounds)]
    told = ", ".join([*words, f"{seeds} seed{'s' * (seeds > 1)}"])
    short = "" if cell.rounds == 300 else f", only {cell.rounds} rounds"
    return block == told + short or bool(short and block.startswith(f"{told}{short}, from round"))


def test_runs_with_a_record_have_its_figures() -> None:
    parts = dict.fromkeys(cell.part for cell in cells("table4"))
    kept = [
        result
        for result in over_shared_rounds(finished_results(RESULTS, parts))
        if result.path is None
    ]
    shown = {
        (line["setting"], line["method"], line["seed"]): line for line in lines("table4-runs.csv")
    }
    assert kept
    for result in kept:
        part, accuracy = result.cell.part, result.accuracy
        line = shown[part.setting, part.name, f"{result.cell.seed}"]
        told = [float(line[name]) for name in ("best", "final", "median", "loss")]
        assert told == [accuracy.best, accuracy.final, accuracy.median, result.summary["loss"]]
