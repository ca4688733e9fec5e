"""When checkpoints are made, and that a slow or broken disk does no harm unseen."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from time import thread_time

import pytest

from flexcfl.record.checkpoints import Checkpoint, Saver
from tests.waiting import PATIENCE


@dataclass
class Disk:
    """Notes what is saved; can be set to wait, or to fail."""

    rounds: list[int] = field(default_factory=list)
    free: threading.Event = field(default_factory=threading.Event)
    error: Exception | None = None
    together: int = 0

    def save(self, checkpoint: Checkpoint) -> None:
        self.together += 1
        assert self.together == 1
        assert self.free.wait(PATIENCE)
        self.together -= 1
        if self.error is not None:
            raise self.error
        self.rounds.append(checkpoint.round)


@dataclass
class Clock:
    time: float = 100.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def slow() -> Iterator[Disk]:
    disk = Disk()
    yield disk
    disk.free.set()


@pytest.fixture
def disk(slow: Disk) -> Disk:
    slow.free.set()
    return slow


def taken(number: int) -> Callable[[], Checkpoint]:
    return lambda: Checkpoint(number, None, [])


def not_taken() -> Checkpoint:
    raise AssertionError("nobody wants it")


def waited(saver: Saver) -> None:
    """Let the current write finish, as a long round would."""
    if saver.writing is not None:
        saver.writing.exception(10)


def offered(saver: Saver, rounds: range, clock: Clock | None = None, step: float = 0) -> None:
    for number in rounds:
        if clock is not None:
            clock.time += step
        saver.save_if_due(number, taken(number))
        waited(saver)


@pytest.mark.parametrize(("every", "expected"), [(1, [1, 2, 3, 4, 5, 6]), (2, [2, 4, 6]), (4, [4])])
def test_after_so_many_rounds(disk: Disk, every: int, expected: list[int]) -> None:
    with Saver(disk.save, every, 0) as saver:
        offered(saver, range(1, 7))
    assert disk.rounds == expected


def test_after_so_many_seconds(disk: Disk) -> None:
    clock = Clock()
    with Saver(disk.save, 0, 60, now=clock) as saver:
        offered(saver, range(1, 11), clock, 25)
    assert disk.rounds == [3, 6, 9]


def test_whichever_comes_first_and_both_begin_anew(disk: Disk) -> None:
    clock = Clock()
    with Saver(disk.save, 4, 60, now=clock) as saver:
        offered(saver, range(1, 6), clock, 1)
        offered(saver, range(6, 8), clock, 30)
        offered(saver, range(8, 12), clock, 1)
    assert disk.rounds == [4, 7, 11]


def worked(seconds: float) -> None:
    """Take so much of a processor's time."""
    began = thread_time()
    while thread_time() - began < seconds:
        pass


def test_those_by_rounds_wait_while_they_have_taken_too_much_of_the_time() -> None:
    clock, saved = Clock(), list[int]()

    def save(checkpoint: Checkpoint) -> None:
        worked(0.01)
        saved.append(checkpoint.round)

    with Saver(save, 1, 0, share=0.5, now=clock) as saver:
        offered(saver, range(1, 10), clock, 0.005)
    assert saved[0] == 1  # its time is not known yet, so it may be made
    assert 2 <= len(saved) <= 4
    assert all(later - earlier >= 3 for earlier, later in pairwise(saved))


def test_those_by_time_do_not_wait(disk: Disk) -> None:
    clock = Clock()
    with Saver(disk.save, 0, 60, share=1e-12, now=clock) as saver:
        offered(saver, range(1, 5), clock, 60)
    assert disk.rounds == [1, 2, 3, 4]


def test_making_one_is_counted_as_well(disk: Disk) -> None:
    clock = Clock()
    with Saver(disk.save, 1, 0, share=0.5, now=clock) as saver:
        saver.save_if_due(1, lambda: worked(0.01) or Checkpoint(1, None, []))  # type: ignore[func-returns-value]
        waited(saver)
        clock.time += 0.01
        saver.save_if_due(2, not_taken)
    assert disk.rounds == [1]


def test_none_turns_both_off(disk: Disk) -> None:
    clock = Clock()
    with Saver(disk.save, 0, 0, now=clock) as saver:
        for number in range(1, 50):
            clock.time += 1000
            saver.save_if_due(number, not_taken)
    assert disk.rounds == []


def test_rounds_are_counted_from_where_a_run_goes_on(disk: Disk) -> None:
    with Saver(disk.save, 10, 0, saved=37) as saver:
        offered(saver, range(38, 60))
    assert disk.rounds == [47, 57]


def test_the_start_is_saved_when_that_is_insisted_on(disk: Disk) -> None:
    with Saver(disk.save, 0, 0) as saver:
        saver.save_now(0, taken(0))
        assert disk.rounds == [0]


def test_to_insist_is_to_have_it_on_the_disk_once(disk: Disk) -> None:
    with Saver(disk.save, 5, 0) as saver:
        offered(saver, range(1, 6))
        saver.save_now(5, not_taken)
        saver.save_now(6, taken(6))
        saver.save_now(6, not_taken)
        assert disk.rounds == [5, 6]


def test_to_insist_waits_for_what_is_being_written(slow: Disk) -> None:
    with Saver(slow.save, 1, 0) as saver:
        saver.save_if_due(1, taken(1))
        threading.Timer(0.05, slow.free.set).start()
        saver.save_now(1, not_taken)
        assert slow.rounds == [1]


def test_a_slow_disk_gets_no_second_one_meanwhile(slow: Disk) -> None:
    with Saver(slow.save, 1, 0) as saver:
        saver.save_if_due(1, taken(1))
        for number in range(2, 9):
            saver.save_if_due(number, not_taken)
        slow.free.set()
        waited(saver)
        saver.save_if_due(9, taken(9))
    assert slow.rounds == [1, 9]


@pytest.mark.parametrize("way", ["offer", "insist", "leave"])
def test_what_goes_wrong_is_raised_at_the_next_occasion(disk: Disk, way: str) -> None:
    disk.error = OSError(28, "No space left on device")
    with pytest.raises(OSError, match="No space"), Saver(disk.save, 1, 0) as saver:  # noqa: PT012
        saver.save_if_due(1, taken(1))
        waited(saver)
        if way == "offer":
            saver.save_if_due(2, not_taken)
        elif way == "insist":
            saver.save_now(1, not_taken)


def test_the_first_error_is_the_reported_one(disk: Disk) -> None:
    disk.error = OSError(28, "No space left on device")
    with pytest.raises(KeyError, match="first"), Saver(disk.save, 1, 0) as saver:  # noqa: PT012
        saver.save_if_due(1, taken(1))
        raise KeyError("first")


def test_leaving_waits_for_what_is_being_written(slow: Disk) -> None:
    with Saver(slow.save, 1, 0) as saver:
        saver.save_if_due(1, taken(1))
        threading.Timer(0.05, slow.free.set).start()
    assert slow.rounds == [1]
    assert not any(each.name.startswith("checkpoint") for each in threading.enumerate())
