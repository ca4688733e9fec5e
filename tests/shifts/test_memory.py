"""A world that is remembered goes on as the one that it was."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from flexcfl.record.checkpoints import flattened, rebuilt
from flexcfl.shifts import SHIFTS, DataView, Timeline, TimelineMemory
from flexcfl.testing.shifts import everybody, of_labels
from tests.shifts.worlds import LAST, lists, timeline, worlds


def told(view: DataView) -> list[Any]:
    """Return all that a view says."""
    clients = np.arange(len(view.train))
    return [
        lists(view.train),
        lists(view.test),
        view.shifted.tolist(),
        view.label_counts_of(clients).tolist(),
    ]


def written_and_read(world: TimelineMemory) -> TimelineMemory:
    arrays: list[NDArray[Any]] = []
    content = flattened(world, arrays)
    again: TimelineMemory = rebuilt(TimelineMemory, content, [array.copy() for array in arrays])
    return again


@settings(max_examples=50)
@given(
    worlds(), st.integers(0, 5), st.lists(st.integers(0, LAST), max_size=3), st.integers(0, LAST)
)
def test_it_goes_on_as_it_was(
    world: Any, seed: int, elsewhere: Sequence[int], remembered: int
) -> None:
    federation, shifts, visited = world
    one, other = (Timeline(federation, shifts, seed, visited) for _ in range(2))
    one.at(remembered)
    memory = written_and_read(one.memory())
    for number in elsewhere:  # wherever it has been before
        other.at(number)
    other.recall(memory)
    for number in range(remembered + 1, LAST + 3):
        assert told(other.at(number)) == told(one.at(number))
    assert told(other.start) == told(one.start)


@settings(max_examples=30)
@given(worlds(), st.integers(0, LAST))
def test_what_is_remembered_does_not_change_with_the_world(world: Any, remembered: int) -> None:
    federation, shifts, visited = world
    one = Timeline(federation, shifts, 0, visited)
    one.at(remembered)
    memory = one.memory()
    before = [array.copy() for array in arrays_of(memory)]
    one.at(LAST + 2)
    assert all(map(np.array_equal, before, arrays_of(memory)))


def arrays_of(memory: TimelineMemory) -> list[NDArray[Any]]:
    found: list[NDArray[Any]] = []
    flattened(memory, found)
    return found


@pytest.mark.parametrize("name", sorted(SHIFTS))
def test_one_may_go_back_behind_what_is_remembered(name: str) -> None:
    options: dict[str, Any] = {"probability": 0.5}
    if name == "incremental":
        options = {"schedule": [{"round": 0, "share": 0.5}, {"round": 4, "share": 1}]}
    federation = of_labels([[0, 0, 1], [1, 2, 2], [0, 2, 1], [3, 3, 0]], classes=4)
    shifts = {name: SHIFTS[name].shift(**options)}
    one, other = (Timeline(federation, shifts, 0, everybody(federation)) for _ in range(2))
    one.at(5)
    other.recall(one.memory())
    for number in (3, 0, 7):
        assert told(other.at(number)) == told(one.at(number))


def test_who_is_at_home_costs_nothing() -> None:
    federation = of_labels([[0, 1]] * 1000)
    one = timeline(federation)
    one.at(3)
    memory = one.memory()
    assert sum(part.nbytes for part in (memory.train.others, memory.train.slots)) == 0
    assert memory.number == 3
