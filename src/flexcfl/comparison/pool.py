"""Runs in several processes at once; the end of one by a failure is the end of all."""

import pickle
from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TypeAlias

from flexcfl.comparison.messages import (
    Done,
    Failed,
    Faulty,
    Message,
    Remark,
    Resumed,
    RoundDone,
    Work,
)
from flexcfl.comparison.process import GRACE, Inbox, Process, end, hang_up
from flexcfl.data import Federation
from flexcfl.errors import SettingsError, TrainingError
from flexcfl.record.finished import is_finished, read_back
from flexcfl.runner.stopping import Stop

__all__ = ["Event", "Started", "carried_out", "parcel"]

TICK = 0.5  # seconds after which whoever shows a clock is heard


@dataclass(frozen=True)
class Started:
    """A run has been handed to a process."""


News: TypeAlias = Resumed | Remark | RoundDone | Done
Event: TypeAlias = tuple[Work, Started | News]
Make: TypeAlias = Callable[[Inbox], Process]
Give: TypeAlias = Callable[[Process, Work], Event]


def parcel(federation: Federation | None) -> bytes:
    """Return a federation of the caller's own in the form in which processes are sent it."""
    try:
        return pickle.dumps(federation)
    except Exception as error:  # whatever its parts raise
        raise SettingsError(
            f"The federation cannot be sent to other processes ({error}): "
            "make it of plain arrays, or name a dataset."
        ) from None


def carried_out(
    runs: Sequence[Work],
    jobs: int,
    federation: bytes,
    folder: Path | None,
    stop: Stop | None = None,
    track: Sequence[str] = (),
    low_priority: bool = False,
) -> Generator[Event | None, None, None]:
    """Yield what happens to the runs, and None from time to time.

    ``federation`` is a parcel. Runs leave their folders in ``folder``, if there is one: those that
    are finished there are not done again, and those that have begun are gone on with. When somebody
    asks to ``stop``, runs come to the end of their rounds, and this ends early. ``track`` are the
    names of trackers. Processes of ``low_priority`` let all other programs go first. All are
    gone when this ends, when a run fails, and when this is closed.
    """
    stop, waiting = stop or Stop(), deque[Work]()
    for run in runs:
        if folder and is_finished(folder / run.folder):
            yield run, Done.earlier(read_back(folder / run.folder, run.experiment))
        else:
            waiting.append(run)
    give = partial(_given, folder=folder, track=tuple(track))
    make = partial(Process, low_priority=low_priority)
    yield from _shared_out(waiting, jobs, federation, make, give, stop)


def _shared_out(
    waiting: "deque[Work]", jobs: int, federation: bytes, make: Make, give: Give, stop: Stop
) -> Generator[Event | None, None, None]:
    """Share out runs among processes, each of which gets the next when it is done with one."""
    inbox: Inbox = SimpleQueue()
    processes = list[Process]()
    try:
        for _ in range(min(jobs, len(waiting))):
            processes.append(make(inbox))
            processes[-1].tell(federation)
            yield give(processes[-1], waiting.popleft())
        while any(process.run for process in processes):
            if stop.asked is not None:
                waiting.clear()
                hang_up(processes)
            try:
                process, message = inbox.get(timeout=TICK)
            except Empty:
                yield None
                continue
            if message is None and stop.asked is not None:  # it is gone, as it was asked to
                process.run = None
            if process.run is None:  # it is gone, and was no longer needed
                continue
            yield process.run, _checked(process, process.run, message)
            if isinstance(message, Done):
                process.run = None
                if waiting:
                    yield give(process, waiting.popleft())
    finally:
        # Who has asked to stop and does not wait for that does not want to wait at all.
        end(processes, GRACE if stop.asked is None else 0.0)


def _given(process: Process, run: Work, folder: Path | None, track: tuple[str, ...]) -> Event:
    process.give(run, folder, track)
    return run, Started()


def _checked(process: Process, run: Work, message: Message | None) -> News:
    """Return good news, and raise the others."""
    if message is None:
        raise TrainingError(
            f"The process of {run.title} has ended before its time "
            f"(exit code {process.wait(GRACE)}): there may be too little memory, so try "
            "fewer processes (--jobs)."
        )
    if isinstance(message, Failed) and not message.begun:
        raise message.kind(message.sentence)
    if isinstance(message, Failed):
        raise message.kind(f"{run.title} failed: {message.sentence}")
    if isinstance(message, Faulty):
        raise RuntimeError(f"{run.title} failed.\n\n{message.trace}")
    return message
