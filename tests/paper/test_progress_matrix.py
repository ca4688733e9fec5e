"""What is shown while a reproduction goes on, with a clock that the test turns."""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from flexcfl.comparison.worker_messages import Done, Event, RoundDone, Started
from flexcfl.paper.cells import Cell
from flexcfl.paper.progress_matrix import ProgressMatrix, show_matrix
from tests.paper.constructed import part

NOTHING: Any = {}  # of a summary

ROUNDS = 25


@dataclass
class Clock:
    time: float = 0.0

    def __call__(self) -> float:
        return self.time


def cells(*rows: str) -> list[Cell]:
    """Return two methods on rows with two seeds, FlexCFL also under a shift."""
    parts = [part(row, *how) for row in rows
             for how in (("fedavg",), ("flexcfl",), ("flexcfl", "swap-all"))]  # fmt: skip
    return [Cell(each, seed, ROUNDS) for each in parts for seed in range(2)]


def events_of(cell: Cell, best: float = 0.5) -> Iterator[Event]:
    yield cell, Started()
    for number in range(1, ROUNDS + 1):
        yield cell, RoundDone(number, None)
    yield cell, Done(NOTHING, np.linspace(0, best, ROUNDS))


def drawn(matrix: ProgressMatrix) -> list[str]:
    """Return the lines of the matrix on a wide screen."""
    screen = io.StringIO()
    Console(file=screen, width=200, color_system=None).print(matrix.drawn())
    return [line.rstrip() for line in screen.getvalue().splitlines() if line.strip(" ─")]


def matrix_of(several: list[Cell], height: int = 50, clock: Clock | None = None) -> ProgressMatrix:
    return ProgressMatrix(several, Console(height=height, width=200), clock or Clock())


def test_the_matrix_has_settings_by_methods_and_the_mean_of_finished_seeds() -> None:
    several, clock = cells("synthetic-mclr"), Clock()
    matrix = matrix_of(several, clock=clock)
    for cell, best in zip(several[:2], (0.5, 0.75), strict=True):
        for event in events_of(cell, best):
            matrix.take(event)
    for event in list(events_of(several[2]))[:11]:
        matrix.take(event)
    clock.time = 75.0
    head, static, moved, words = drawn(matrix)
    assert head.split() == ["how", "far,", "and", "best", "in", "%", "fedavg", "flexcfl"]
    assert static.split() == ["synthetic-mclr", "62.5", "20%"]
    assert moved.split() == ["synthetic-mclr-swap-all", "."]
    assert words.strip().startswith("2 of 6 runs done after 1:15, about ")


def test_what_has_no_accuracy_is_a_dash() -> None:
    several = cells("synthetic-mclr")[:1]
    matrix = matrix_of(several)
    for event in list(events_of(several[0]))[:-1]:
        matrix.take(event)
    matrix.take((several[0], Done(NOTHING, np.full(ROUNDS, np.nan))))
    assert drawn(matrix)[1].split() == ["synthetic-mclr", "-"]
    assert matrix.line().endswith("last synthetic-mclr, fedavg, seed 0")


def test_what_was_finished_before_is_in_the_matrix_from_the_start() -> None:
    several = cells("synthetic-mclr")
    matrix = matrix_of(several)
    for cell in several[:2]:
        matrix.take((cell, Done(NOTHING, np.full(ROUNDS, 0.25), before=True)))
    assert drawn(matrix)[1].split() == ["synthetic-mclr", "25.0", "."]


@pytest.mark.parametrize(("height", "rows"), [(50, 6), (12, 6), (11, 4), (9, 3), (7, 1), (2, 1)])
def test_a_low_terminal_leaves_finished_settings_out_and_then_the_last(
    height: int, rows: int
) -> None:
    several = cells("mnist-mclr", "synthetic-mclr", "femnist-mclr")
    matrix = matrix_of(several, height)
    settings = list(dict.fromkeys(cell.part.setting for cell in several))
    for cell in several:
        if cell.part.setting in settings[:2]:
            matrix.take((cell, Done(NOTHING, np.full(ROUNDS, 0.25), before=True)))
    _, *lines, _ = drawn(matrix)
    expected = settings if rows == 6 else settings[2:][:rows]
    assert [line.split()[0] for line in lines] == expected


def test_the_time_left_weighs_rounds_by_what_they_cost() -> None:
    quick, slow = (Cell(part(row), 0, 300) for row in ("femnist-mclr", "femnist-mlp"))
    ratio = slow.part.row.seconds / quick.part.row.seconds
    clock = Clock()
    matrix = matrix_of([quick, slow], clock=clock)
    matrix.take((quick, RoundDone(1, None)))
    for number in range(2, 301):
        clock.time += 1
        matrix.take((quick, RoundDone(number, None)))
    left = round(300 * ratio)
    minutes, seconds = divmod(left, 60)
    hours, minutes = divmod(minutes, 60)
    assert matrix.line().endswith(f", about {hours}:{minutes:02}:{seconds:02} left")


@pytest.mark.parametrize("terminal", [True, False])
def test_all_events_are_handed_on_and_shown(terminal: bool) -> None:
    several, screen, clock = cells("synthetic-mclr"), io.StringIO(), Clock()
    console = Console(file=screen, force_terminal=terminal, width=90, color_system=None)
    events = [event for cell in several for event in events_of(cell)]
    handed = list(show_matrix(iter([None, *events, None]), several, console, clock))
    assert handed == events
    text = screen.getvalue()
    assert "6 of 6 runs done after" in text
    if terminal:
        assert "best in %" in text
    else:
        last = text.splitlines()[-1]
        assert last.endswith("; last synthetic-mclr-swap-all, flexcfl, seed 1 50.0%")
        assert len(text.splitlines()) == 6


def test_without_a_terminal_there_is_a_line_after_a_while_even_if_nothing_is_done() -> None:
    several, screen, clock = cells("synthetic-mclr"), io.StringIO(), Clock()

    def events() -> Iterator[Event | None]:
        for clock.time in (5.0, 11.0, 12.0, 22.0):
            yield None

    list(show_matrix(events(), several, Console(file=screen, width=90), clock))
    assert screen.getvalue() == "0 of 6 runs done after 0:11\n0 of 6 runs done after 0:22\n"


def test_a_quiet_console_shows_nothing() -> None:
    several, screen = cells("synthetic-mclr"), io.StringIO()
    events = list(events_of(several[0]))
    assert list(show_matrix(iter(events), several, Console(file=screen, quiet=True))) == events
    assert screen.getvalue() == ""
