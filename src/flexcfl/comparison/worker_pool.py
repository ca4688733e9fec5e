"""Runs in several worker processes at once; if one run fails, all of them end."""

import os
import pickle
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any, TypeAlias

from flexcfl.comparison.worker_messages import (
    Done,
    Event,
    Failed,
    Faulty,
    Message,
    News,
    RunSpec,
    Started,
    Task,
)
from flexcfl.data import Federation
from flexcfl.errors import SettingsError, TrainingError
from flexcfl.record.reading import is_finished, read_back
from flexcfl.runner.stopping import Stop

__all__ = ["WorkerProcess", "core_count", "pickled", "process_environment", "run_in_processes"]

TICK = 0.5  # seconds after which there is an event at the latest
LOWEST = 19  # of all priorities
GRACE = 2.0  # seconds that a process has to end before it is killed
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
# The caller's main module is not imported, so that a script needs no guard against that.
PROGRAM = (
    "import sys; sys.path[:] = {path!r}; from flexcfl.comparison.worker_process import main; main()"
)

Inbox: TypeAlias = "SimpleQueue[tuple[WorkerProcess, Message | None]]"


def core_count() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def pickled(federation: Federation | None) -> bytes:
    """Return a federation of the caller's own in the form in which processes are sent it."""
    try:
        return pickle.dumps(federation)
    except Exception as error:  # whatever its parts raise
        raise SettingsError(
            f"The federation cannot be sent to other processes ({error}): "
            "make it of plain arrays, or name a dataset."
        ) from None


def run_in_processes(
    runs: Sequence[RunSpec],
    jobs: int,
    federation: bytes,
    folder: Path | None,
    stop: Stop | None = None,
    track: Sequence[str] = (),
    low_priority: bool = False,
) -> Generator[Event | None, None, None]:
    """Yield what happens to the runs, and None from time to time.

    ``federation`` is pickled. Runs write their folders in ``folder``, if there is one: those that
    are finished there are not done again, and those that have begun are resumed. When ``stop``
    asks for it, runs end after their rounds, and this ends early. ``track`` are the names of
    trackers. Processes of ``low_priority`` let all other programs go first. All are gone when this
    ends, when a run fails, and when this is closed.
    """
    waiting = deque[tuple[RunSpec, Task]]()
    for run in runs:
        path = folder / run.folder if folder else None
        if path and is_finished(path):
            yield run, Done.of(read_back(path, run.experiment), before=True)
        else:
            waiting.append((run, Task(run.experiment, path, tuple(track))))
    stop, processes = stop or Stop(), list[WorkerProcess]()
    inbox: Inbox = SimpleQueue()
    try:
        for _ in range(min(jobs, len(waiting))):
            processes.append(WorkerProcess(inbox, low_priority))
            processes[-1].send(federation)
            yield _give_next(processes[-1], waiting)
        yield from _events(processes, inbox, waiting, stop)
    finally:
        # After a second wish to stop there is nothing left to wait for.
        _end(processes, GRACE if stop.asked is None else 0.0)


def _events(
    processes: Sequence["WorkerProcess"],
    inbox: Inbox,
    waiting: "deque[tuple[RunSpec, Task]]",
    stop: Stop,
) -> Generator[Event | None, None, None]:
    """Yield what the processes report; each that has done its run gets the next one."""
    while any(process.run for process in processes):
        if stop.asked is not None:
            waiting.clear()
            _hang_up(processes)
        try:
            process, message = inbox.get(timeout=TICK)
        except Empty:
            yield None
            continue
        if message is None and stop.asked is not None:  # it has ended, as it was asked to
            process.run = None
        if process.run is None:  # it has ended, and was no longer needed
            continue
        yield process.run, _checked(process, process.run, message)
        if isinstance(message, Done):
            process.run = None
            if waiting:
                yield _give_next(process, waiting)


def _give_next(process: "WorkerProcess", waiting: "deque[tuple[RunSpec, Task]]") -> Event:
    process.run, task = waiting.popleft()
    process.send(pickle.dumps(task))
    return process.run, Started()


def _checked(process: "WorkerProcess", run: RunSpec, message: Message | None) -> News:
    """Return good news, and raise an error for bad news."""
    if message is None:
        raise TrainingError(
            f"The process of {run.title} has ended before its time "
            f"(exit code {process.wait(GRACE)}): there may be too little memory, so try "
            "fewer processes (--jobs)."
        )
    if isinstance(message, Failed):
        raise message.error(run)
    if isinstance(message, Faulty):
        raise RuntimeError(f"{run.title} failed.\n\n{message.trace}")
    return message


@dataclass(eq=False)
class WorkerProcess:
    """A worker process, and the run that it is doing.

    Its messages go into the inbox, and None when it has ended. One of ``low_priority`` lets all
    other programs go first.
    """

    inbox: Inbox
    low_priority: bool = False
    run: RunSpec | None = None
    _process: "subprocess.Popen[bytes]" = field(init=False)
    _reader: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        # Modules are looked for in this folder last, where files of the user's own may be.
        path = [*map(str, sys.path), str(Path.cwd())]
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM.format(path=path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=process_environment(),
            start_new_session=True,  # Ctrl-C is for the parent alone, which then ends the others
        )
        if self.low_priority:
            with suppress(OSError):  # it may have ended already, which the inbox will say
                os.setpriority(os.PRIO_PROCESS, self._process.pid, LOWEST)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def send(self, pickled: bytes) -> None:
        """Send something; if the process has ended, the inbox will say so."""
        with suppress(OSError):
            assert self._process.stdin is not None
            self._process.stdin.write(pickled)
            self._process.stdin.flush()

    def hang_up(self) -> None:
        """Close its input, upon which the process ends, if only after its round."""
        with suppress(OSError):
            assert self._process.stdin is not None
            self._process.stdin.close()

    def wait(self, seconds: float) -> int:
        """Wait for its end, and kill it if that takes longer; return the exit code."""
        try:
            return self._process.wait(max(0.0, seconds))
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()
        finally:
            self._reader.join(GRACE)  # no longer, should another process hold its output open

    def _read(self) -> None:
        assert self._process.stdout is not None
        try:
            with self._process.stdout as answers, suppress(EOFError, pickle.UnpicklingError):
                while True:
                    self.inbox.put((self, pickle.load(answers)))
        finally:  # whatever it was, nothing more will come
            self.inbox.put((self, None))


def process_environment() -> Mapping[str, Any]:
    """Return the environment with one thread for each library, unless their number is set.

    Runs side by side use cores better than threads inside of a run.
    """
    return {**dict.fromkeys(THREADS, "1"), **os.environ}


def _hang_up(processes: Iterable[WorkerProcess]) -> None:
    for process in processes:
        process.hang_up()


def _end(processes: Iterable[WorkerProcess], grace: float) -> None:
    """End processes, all at the same time, and wait until they have ended or are killed."""
    processes = list(processes)
    _hang_up(processes)
    deadline = monotonic() + grace
    for process in processes:
        process.wait(deadline - monotonic())
