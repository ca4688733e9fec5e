"""Do runs in several worker processes at once; if one run fails, all processes end."""

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

TICK = 0.5  # yield at least this often, in seconds
LOWEST = 19  # the lowest priority
GRACE = 2.0  # seconds before a process that does not end is killed
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
# The caller's main module is not imported, so a script needs no ``if __name__`` guard.
PROGRAM = (
    "import sys; sys.path[:] = {path!r}; from flexcfl.comparison.worker_process import main; main()"
)

Inbox: TypeAlias = "SimpleQueue[tuple[WorkerProcess, Message | None]]"


def core_count() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def pickled(federation: Federation | None) -> bytes:
    """Return the caller's own federation as bytes for worker processes."""
    try:
        return pickle.dumps(federation)
    except Exception as error:  # its parts can raise anything
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
    """Yield the events of the runs, and None from time to time.

    ``federation`` is pickled. Runs write their folders in ``folder``, if given: finished runs there
    are not done again, and begun ones are resumed. After a request to ``stop``, each run ends its
    round, and the generator ends early. ``track`` names trackers. Processes with ``low_priority``
    let all other programs go first. All processes have ended when the generator ends or is closed,
    and when a run fails.
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
        # After a second request to stop, do not wait.
        _end(processes, GRACE if stop.asked is None else 0.0)


def _events(
    processes: Sequence["WorkerProcess"],
    inbox: Inbox,
    waiting: "deque[tuple[RunSpec, Task]]",
    stop: Stop,
) -> Generator[Event | None, None, None]:
    """Yield what the processes report; a process that has done its run gets the next one."""
    while any(process.run for process in processes):
        if stop.asked is not None:
            waiting.clear()
            _hang_up(processes)
        try:
            process, message = inbox.get(timeout=TICK)
        except Empty:
            yield None
            continue
        if message is None and stop.asked is not None:  # it has ended as requested
            process.run = None
        if process.run is None:  # it has ended and is no longer needed
            continue
        yield process.run, _news_or_error(process, process.run, message)
        if isinstance(message, Done):
            process.run = None
            if waiting:
                yield _give_next(process, waiting)


def _give_next(process: "WorkerProcess", waiting: "deque[tuple[RunSpec, Task]]") -> Event:
    process.run, task = waiting.popleft()
    process.send(pickle.dumps(task))
    return process.run, Started()


def _news_or_error(process: "WorkerProcess", run: RunSpec, message: Message | None) -> News:
    """Return the message, or raise the error that it reports."""
    if message is None:
        raise TrainingError(
            f"The process of {run.title} ended unexpectedly (exit code {process.wait(GRACE)}): "
            "there may be too little memory, so try fewer processes (--jobs)."
        )
    if isinstance(message, Failed):
        raise message.error(run)
    if isinstance(message, Faulty):
        raise RuntimeError(f"{run.title} failed.\n\n{message.trace}")
    return message


@dataclass(eq=False)
class WorkerProcess:
    """A worker process, and the run that it is doing.

    Its messages go into the inbox, followed by None when it has ended. With ``low_priority`` it
    lets all other programs go first.
    """

    inbox: Inbox
    low_priority: bool = False
    run: RunSpec | None = None
    _process: "subprocess.Popen[bytes]" = field(init=False)
    _reader: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        # The current folder comes last: the user's own modules may be there.
        path = [*map(str, sys.path), str(Path.cwd())]
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM.format(path=path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=process_environment(),
            start_new_session=True,  # only the parent gets Ctrl-C, and then ends its processes
        )
        if self.low_priority:
            with suppress(OSError):  # it may have ended already; the inbox reports that
                os.setpriority(os.PRIO_PROCESS, self._process.pid, LOWEST)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def send(self, pickled: bytes) -> None:
        """Send a pickled object; if the process has ended, the inbox reports that."""
        with suppress(OSError):
            assert self._process.stdin is not None
            self._process.stdin.write(pickled)
            self._process.stdin.flush()

    def hang_up(self) -> None:
        """Close its input, so that the process ends, after its round if it has a folder."""
        with suppress(OSError):
            assert self._process.stdin is not None
            self._process.stdin.close()

    def wait(self, seconds: float) -> int:
        """Wait until it ends, kill it after ``seconds``, and return its exit code."""
        try:
            return self._process.wait(max(0.0, seconds))
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()
        finally:
            self._reader.join(GRACE)  # limited, because another process may hold its output open

    def _read(self) -> None:
        assert self._process.stdout is not None
        try:
            with self._process.stdout as answers, suppress(EOFError, pickle.UnpicklingError):
                while True:
                    self.inbox.put((self, pickle.load(answers)))
        finally:  # nothing more will come
            self.inbox.put((self, None))


def process_environment() -> Mapping[str, Any]:
    """Return the environment with one thread per library, unless the user sets another number.

    Parallel runs use the cores better than threads within a run.
    """
    return {**dict.fromkeys(THREADS, "1"), **os.environ}


def _hang_up(processes: Iterable[WorkerProcess]) -> None:
    for process in processes:
        process.hang_up()


def _end(processes: Iterable[WorkerProcess], grace: float) -> None:
    """End all processes at the same time, and kill those that take longer than ``grace``."""
    processes = list(processes)
    _hang_up(processes)
    deadline = monotonic() + grace
    for process in processes:
        process.wait(deadline - monotonic())
