"""How long runs will take, where a round of one takes longer than that of another."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexcfl.comparison.advance import Advance, clock
from flexcfl.comparison.messages import Done, Resumed, RoundDone, Work
from flexcfl.comparison.plan import Planned, planned
from flexcfl.experiment.layers import spoken

NOTHING: Any = {}  # of a summary

ROUNDS = 100
RUNS = planned(["fedavg", "ifca"], 1, spoken({"rounds": ROUNDS}, {}))

costs = st.floats(0.1, 100)


@dataclass
class Clock:
    time: float = 0.0

    def __call__(self) -> float:
        return self.time


def advance(quick: float, slow: float) -> tuple[Advance, Clock]:
    """Return the advance of two runs whose rounds cost so much."""
    now = Clock()

    def cost(run: Work) -> float:
        return quick if run.folder == RUNS[0].folder else slow

    return Advance(RUNS, cost, now), now


def pass_by(found: Advance, now: Clock, run: Planned, rounds: range, seconds: float) -> None:
    for number in rounds:
        now.time += seconds
        found.take((run, RoundDone(number, None)))


@given(costs, costs, st.integers(20, ROUNDS))
def test_if_rounds_take_what_they_cost_the_time_left_is_what_is_left_of_the_costs(
    quick: float, slow: float, number: int
) -> None:
    found, now = advance(quick, slow)
    pass_by(found, now, RUNS[0], range(1, number + 1), quick)
    left = (ROUNDS - number) * quick + ROUNDS * slow
    words = found.words()
    told = {clock(left + error) for error in (-1e-6, 0, 1e-6)}  # at the edge of a second
    assert words.rpartition(", about ")[2] in {f"{each} left" for each in told}


@given(costs, costs, st.floats(0.01, 100))
def test_the_unit_of_the_costs_makes_no_difference(quick: float, slow: float, unit: float) -> None:
    (one, first), (two, second) = advance(quick, slow), advance(quick * unit, slow * unit)
    for found, now in ((one, first), (two, second)):
        pass_by(found, now, RUNS[1], range(1, 41), 7.0)
        pass_by(found, now, RUNS[0], range(1, 10), 0.5)
    assert seconds_left(one) == pytest.approx(seconds_left(two), abs=1)


def test_costs_that_are_alike_are_as_none() -> None:
    alike, first = advance(3.0, 3.0)
    second = Clock()
    none = Advance(RUNS, now=second)
    pass_by(alike, first, RUNS[0], range(1, 31), 2.0)
    pass_by(none, second, RUNS[0], range(1, 31), 2.0)
    assert alike.words() == none.words() == "0 of 2 runs done after 1:00, about 5:40 left"


def test_what_was_done_earlier_counts_by_its_cost_but_is_not_judged_by() -> None:
    found, now = advance(1.0, 10.0)
    found.take((RUNS[0], Done(NOTHING, np.full(ROUNDS, 0.5), before=True)))
    found.take((RUNS[1], Resumed(50, 0.5)))
    now.time = 1000.0  # until a process had started
    pass_by(found, now, RUNS[1], range(51, 73), 10.0)
    assert found.words() == "1 of 2 runs done after 20:20, about 4:40 left"


def test_the_dear_runs_are_what_the_time_left_consists_of() -> None:
    cheap, now = advance(1.0, 50.0)
    pass_by(cheap, now, RUNS[0], range(1, ROUNDS + 1), 1.0)
    assert seconds_left(cheap) == 50 * ROUNDS


def seconds_left(found: Advance) -> int:
    words = found.words().rpartition(", about ")[2].removesuffix(" left")
    seconds = 0
    for part in words.split(":"):
        seconds = 60 * seconds + int(part)
    return seconds
