"""Runs in several processes at once; the end of one by a failure is the end of all."""

import pickle
from collections import deque
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TypeAlias

from flexcfl.comparison.plan import Planned
from flexcfl.comparison.process import GRACE, Inbox, Process, end
from flexcfl.comparison.worker import Done, Failed, Faulty, Message, RoundDone
from flexcfl.data import Federation
from flexcfl.errors import SettingsError, TrainingError

__all__ = ["Event", "Started", "carried_out", "parcel"]

TICK = 0.5  # seconds after which whoever shows a clock is heard


@dataclass(frozen=True)
class Started:
    """A run has been handed to a process."""


Event: TypeAlias = tuple[Planned, Started | RoundDone | Done]


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
    runs: Sequence[Planned], jobs: int, federation: bytes, folder: Path | None
) -> Generator[Event | None, None, None]:
    """Yield what happens to the runs, and None from time to time.

    ``federation`` is a parcel; runs leave their folders in ``folder``, if there is one. All
    processes are gone when the last run is done, when one fails, and when this is closed.
    """
    inbox: Inbox = SimpleQueue()
    waiting, processes = deque(runs), list[Process]()
    jobs = min(jobs, len(runs))
    try:
        for _ in range(jobs):
            processes.append(Process(inbox))
            processes[-1].tell(federation)
            yield _given(processes[-1], waiting.popleft(), folder)
        while any(process.run for process in processes):
            try:
                process, message = inbox.get(timeout=TICK)
            except Empty:
                yield None
                continue
            if process.run is None:  # it is gone, and was no longer needed
                continue
            yield process.run, _checked(process, process.run, message)
            if isinstance(message, Done):
                process.run = None
                if waiting:
                    yield _given(process, waiting.popleft(), folder)
    finally:
        end(processes)


def _given(process: Process, run: Planned, folder: Path | None) -> Event:
    process.give(run, folder)
    return run, Started()


def _checked(process: Process, run: Planned, message: Message | None) -> RoundDone | Done:
    """Return good news, and raise the others."""
    name = f"'{run.algorithm}' with seed {run.seed}"
    if message is None:
        raise TrainingError(
            f"The process of {name} has ended before its time (exit code {process.wait(GRACE)}): "
            "there may be too little memory, so try fewer processes (--jobs)."
        )
    if isinstance(message, Failed) and not message.begun:
        raise message.error
    if isinstance(message, Failed):
        raise type(message.error)(f"{name} failed: {message.error}")
    if isinstance(message, Faulty):
        raise RuntimeError(f"{name} failed.\n\n{message.trace}")
    return message
