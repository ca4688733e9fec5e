"""How far a comparison is, with a clock that the test turns."""

import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from flexcfl.comparison.advance import clock
from flexcfl.comparison.messages import Done, Resumed, RoundDone
from flexcfl.comparison.plan import Planned, planned
from flexcfl.comparison.pool import Event, Started
from flexcfl.comparison.progress import shown
from flexcfl.comparison.standing import Standing
from flexcfl.experiment.layers import spoken

NOTHING: Any = {}  # of a summary

ROUNDS = 4


@pytest.fixture
def runs() -> tuple[Planned, ...]:
    return planned(["fedavg", "ifca"], 2, spoken({"rounds": ROUNDS}, {}))


def events_of(run: Planned, rounds: int = ROUNDS) -> Iterator[Event]:
    yield run, Started()
    for number in range(1, rounds + 1):
        yield run, RoundDone(number, None if number == 3 else number / 10)
    if rounds == ROUNDS:
        yield run, Done(NOTHING, np.zeros(ROUNDS))


def test_rounds_accuracies_and_times_are_by_algorithm(runs: tuple[Planned, ...]) -> None:
    time = 100.0
    standing = Standing(runs, now=lambda: time)
    assert standing.accuracy("fedavg") is standing.seconds("fedavg") is None
    for event in events_of(runs[0]):
        standing.take(event)
    time = 110.0
    for event in events_of(runs[2], rounds=3):
        standing.take(event)
    assert standing.algorithms() == ["fedavg", "ifca"]
    assert standing.rounds("fedavg") == (7, 8)
    assert sum(standing.advance.rounds.values()) == 7
    assert standing.accuracy("fedavg") == pytest.approx((0.4 + 0.2) / 2)
    assert standing.accuracy("ifca") is None
    assert standing.seconds("fedavg") == 10
    assert standing.advance.words() == "1 of 4 runs done after 0:10"  # too few rounds to judge by


def test_the_time_of_an_algorithm_stands_still_when_its_last_run_is_done(
    runs: tuple[Planned, ...],
) -> None:
    time = 0.0
    standing = Standing(runs, now=lambda: time)
    for run in (runs[0], runs[2]):
        for event in events_of(run):
            standing.take(event)
        time += 5
    time = 60.0
    assert standing.seconds("fedavg") == 5


@pytest.mark.parametrize("terminal", [True, False])
def test_all_events_are_handed_on_and_shown(runs: tuple[Planned, ...], terminal: bool) -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=terminal, width=90, color_system=None)
    events = [event for run in runs for event in events_of(run)]
    assert list(shown(iter([None, *events, None]), runs, console)) == events
    text = screen.getvalue()
    assert "4 of 4 runs done after" in text
    if terminal:
        assert "accuracy now" in text
        assert "8/8" in text
    else:
        assert [line[:6] for line in text.splitlines()] == ["1 of 4", "2 of 4", "3 of 4", "4 of 4"]
        assert "ifca 8/8 40.0%" in text.splitlines()[-1]


def test_a_quiet_console_shows_nothing(runs: tuple[Planned, ...]) -> None:
    screen = io.StringIO()
    list(shown(events_of(runs[0]), runs, Console(file=screen, quiet=True)))
    assert screen.getvalue() == ""


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.4, "0:00"), (59.6, "1:00"), (3599, "59:59"), (3600, "1:00:00")]
)
def test_a_clock(seconds: float, words: str) -> None:
    assert clock(seconds) == words


def test_the_time_left_is_judged_by_rounds_and_not_by_the_start_of_processes() -> None:
    time = 0.0
    many = planned(["fedavg"], 2, spoken({"rounds": 100}, {}))
    standing = Standing(many, now=lambda: time)
    for number in range(1, 52):
        time = 60.0 + number  # a minute to start, then a second a round
        standing.take((many[0], RoundDone(number, None)))
        assert ("left" in standing.advance.words()) == (number >= 20)
    assert standing.advance.words() == "0 of 2 runs done after 1:51, about 2:29 left"


def test_what_was_done_earlier_is_counted_but_not_judged_by() -> None:
    time = 0.0
    many = planned(["fedavg", "ifca"], 2, spoken({"rounds": 100}, {}))
    standing = Standing(many, now=lambda: time)
    late = np.full(100, np.nan)
    late[50] = 0.75
    standing.take((many[0], Done(NOTHING, late, before=True)))
    standing.take((many[1], Started()))
    standing.take((many[1], Resumed(60, 0.5)))
    assert sum(standing.advance.rounds.values()) == 160
    assert (standing.accuracy("fedavg"), standing.accuracy("ifca")) == (0.75, 0.5)
    assert standing.advance.words() == "1 of 4 runs done after 0:00"
    for number in range(61, 82):
        time += 1
        standing.take((many[1], RoundDone(number, None)))
    assert standing.rounds("ifca") == (81, 200)
    assert standing.advance.words() == "1 of 4 runs done after 0:21, about 3:39 left"


def test_runs_that_were_done_earlier_have_no_line_each(runs: tuple[Planned, ...]) -> None:
    screen = io.StringIO()
    events: list[Event] = [(run, Done(NOTHING, np.ones(ROUNDS), before=True)) for run in runs[:3]]
    events += events_of(runs[3])
    list(shown(iter(events), runs, Console(file=screen, width=90)))
    assert [line[:6] for line in screen.getvalue().splitlines()] == ["4 of 4"]
