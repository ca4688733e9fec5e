"""How far runs are and how long they will take, with a clock that the test turns."""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from flexcfl.comparison.live import progress_view, with_live_display
from flexcfl.comparison.plan import PlannedRun, plan_runs
from flexcfl.comparison.progress import ComparisonProgress, Progress, clock
from flexcfl.comparison.worker_messages import Done, Event, Resumed, RoundDone, RunSpec, Started
from flexcfl.experiment.layers import options_layer

NOTHING: Any = {}  # of a summary

ROUNDS, FEW = 100, 4
RUNS = plan_runs(["fedavg", "ifca"], 1, options_layer({"rounds": ROUNDS}, {}))

costs = st.floats(0.1, 100)


@dataclass
class Clock:
    time: float = 0.0

    def __call__(self) -> float:
        return self.time


def progress(quick: float, slow: float) -> tuple[Progress, Clock]:
    """Return the progress of two runs whose rounds cost so much."""
    now = Clock()

    def cost(run: RunSpec) -> float:
        return quick if run.folder == RUNS[0].folder else slow

    return Progress(RUNS, cost, now), now


def pass_by(found: Progress, now: Clock, run: PlannedRun, rounds: range, seconds: float) -> None:
    for number in rounds:
        now.time += seconds
        found.take((run, RoundDone(number, None)))


@given(costs, costs, st.integers(20, ROUNDS))
def test_if_rounds_take_what_they_cost_the_time_left_is_what_is_left_of_the_costs(
    quick: float, slow: float, number: int
) -> None:
    found, now = progress(quick, slow)
    pass_by(found, now, RUNS[0], range(1, number + 1), quick)
    left = (ROUNDS - number) * quick + ROUNDS * slow
    text = found.text()
    told = {clock(left + error) for error in (-1e-6, 0, 1e-6)}  # at the edge of a second
    assert text.rpartition(", about ")[2] in {f"{each} left" for each in told}


@given(costs, costs, st.floats(0.01, 100))
def test_the_unit_of_the_costs_makes_no_difference(quick: float, slow: float, unit: float) -> None:
    (one, first), (two, second) = progress(quick, slow), progress(quick * unit, slow * unit)
    for found, now in ((one, first), (two, second)):
        pass_by(found, now, RUNS[1], range(1, 41), 7.0)
        pass_by(found, now, RUNS[0], range(1, 10), 0.5)
    assert seconds_left(one) == pytest.approx(seconds_left(two), abs=1)


def test_costs_that_are_alike_are_as_none() -> None:
    alike, first = progress(3.0, 3.0)
    second = Clock()
    none = Progress(RUNS, now=second)
    pass_by(alike, first, RUNS[0], range(1, 31), 2.0)
    pass_by(none, second, RUNS[0], range(1, 31), 2.0)
    assert alike.text() == none.text() == "0 of 2 runs done after 1:00, about 5:40 left"


def test_what_was_done_earlier_counts_by_its_cost_but_is_not_judged_by() -> None:
    found, now = progress(1.0, 10.0)
    found.take((RUNS[0], Done(NOTHING, np.full(ROUNDS, 0.5), before=True)))
    found.take((RUNS[1], Resumed(50, 0.5)))
    now.time = 1000.0  # until a process had started
    pass_by(found, now, RUNS[1], range(51, 73), 10.0)
    assert found.text() == "1 of 2 runs done after 20:20, about 4:40 left"


def test_the_dear_runs_are_what_the_time_left_consists_of() -> None:
    cheap, now = progress(1.0, 50.0)
    pass_by(cheap, now, RUNS[0], range(1, ROUNDS + 1), 1.0)
    assert seconds_left(cheap) == 50 * ROUNDS


def seconds_left(found: Progress) -> int:
    left = found.text().rpartition(", about ")[2].removesuffix(" left")
    seconds = 0
    for part in left.split(":"):
        seconds = 60 * seconds + int(part)
    return seconds


@pytest.fixture
def runs() -> tuple[PlannedRun, ...]:
    return plan_runs(["fedavg", "ifca"], 2, options_layer({"rounds": FEW}, {}))


def events_of(run: PlannedRun, rounds: int = FEW) -> Iterator[Event]:
    yield run, Started()
    for number in range(1, rounds + 1):
        yield run, RoundDone(number, None if number == 3 else number / 10)
    if rounds == FEW:
        yield run, Done(NOTHING, np.zeros(FEW))


def test_rounds_accuracies_and_times_are_by_algorithm(runs: tuple[PlannedRun, ...]) -> None:
    time = 100.0
    found = ComparisonProgress(runs, now=lambda: time)
    assert found.accuracy_of("fedavg") is found.seconds_of("fedavg") is None
    for event in events_of(runs[0]):
        found.take(event)
    time = 110.0
    for event in events_of(runs[2], rounds=3):
        found.take(event)
    assert found.algorithms == ["fedavg", "ifca"]
    assert found.rounds_of("fedavg") == (7, 8)
    assert sum(found.rounds.values()) == 7
    assert found.accuracy_of("fedavg") == pytest.approx((0.4 + 0.2) / 2)
    assert found.accuracy_of("ifca") is None
    assert found.seconds_of("fedavg") == 10
    assert found.text() == "1 of 4 runs done after 0:10"  # too few rounds to judge by


def test_the_time_of_an_algorithm_stands_still_when_its_last_run_is_done(
    runs: tuple[PlannedRun, ...],
) -> None:
    time = 0.0
    found = ComparisonProgress(runs, now=lambda: time)
    for run in (runs[0], runs[2]):
        for event in events_of(run):
            found.take(event)
        time += 5
    time = 60.0
    assert found.seconds_of("fedavg") == 5


@pytest.mark.parametrize("terminal", [True, False])
def test_all_events_are_handed_on_and_shown(runs: tuple[PlannedRun, ...], terminal: bool) -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=terminal, width=90, color_system=None)
    events = [event for run in runs for event in events_of(run)]
    assert (
        list(with_live_display(iter([None, *events, None]), progress_view(runs), console)) == events
    )
    text = screen.getvalue()
    assert "4 of 4 runs done after" in text
    if terminal:
        assert "accuracy now" in text
        assert "8/8" in text
    else:
        assert [line[:6] for line in text.splitlines()] == ["1 of 4", "2 of 4", "3 of 4", "4 of 4"]
        assert "ifca 8/8 40.0%" in text.splitlines()[-1]


def test_a_quiet_console_shows_nothing(runs: tuple[PlannedRun, ...]) -> None:
    screen = io.StringIO()
    list(
        with_live_display(events_of(runs[0]), progress_view(runs), Console(file=screen, quiet=True))
    )
    assert screen.getvalue() == ""


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.4, "0:00"), (59.6, "1:00"), (3599, "59:59"), (3600, "1:00:00")]
)
def test_a_clock(seconds: float, words: str) -> None:
    assert clock(seconds) == words


def test_the_time_left_is_judged_by_rounds_and_not_by_the_start_of_processes() -> None:
    time = 0.0
    many = plan_runs(["fedavg"], 2, options_layer({"rounds": 100}, {}))
    found = ComparisonProgress(many, now=lambda: time)
    for number in range(1, 52):
        time = 60.0 + number  # a minute to start, then a second a round
        found.take((many[0], RoundDone(number, None)))
        assert ("left" in found.text()) == (number >= 20)
    assert found.text() == "0 of 2 runs done after 1:51, about 2:29 left"


def test_what_was_done_earlier_is_counted_but_not_judged_by() -> None:
    time = 0.0
    many = plan_runs(["fedavg", "ifca"], 2, options_layer({"rounds": 100}, {}))
    found = ComparisonProgress(many, now=lambda: time)
    late = np.full(100, np.nan)
    late[50] = 0.75
    found.take((many[0], Done(NOTHING, late, before=True)))
    found.take((many[1], Started()))
    found.take((many[1], Resumed(60, 0.5)))
    assert sum(found.rounds.values()) == 160
    assert (found.accuracy_of("fedavg"), found.accuracy_of("ifca")) == (0.75, 0.5)
    assert found.text() == "1 of 4 runs done after 0:00"
    for number in range(61, 82):
        time += 1
        found.take((many[1], RoundDone(number, None)))
    assert found.rounds_of("ifca") == (81, 200)
    assert found.text() == "1 of 4 runs done after 0:21, about 3:39 left"


def test_runs_that_were_done_earlier_have_no_line_each(runs: tuple[PlannedRun, ...]) -> None:
    screen = io.StringIO()
    events: list[Event] = [(run, Done(NOTHING, np.ones(FEW), before=True)) for run in runs[:3]]
    events += events_of(runs[3])
    list(with_live_display(iter(events), progress_view(runs), Console(file=screen, width=90)))
    assert [line[:6] for line in screen.getvalue().splitlines()] == ["4 of 4"]
