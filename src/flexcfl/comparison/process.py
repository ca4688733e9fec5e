"""The handle of a worker process: what it is told, what it answers, how it is ended."""

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from time import monotonic
from typing import Any, TypeAlias

from flexcfl.comparison.messages import Message, Task, Work

__all__ = ["Inbox", "Process", "cores", "end", "hang_up"]

LOWEST = 19  # of all priorities
GRACE = 2.0  # seconds in which a process may tidy up before it is killed
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
# The module of whoever compares is not imported, so that a script needs no guard against that.
PROGRAM = "import sys; sys.path[:] = {path!r}; from flexcfl.comparison.worker import main; main()"

Inbox: TypeAlias = "SimpleQueue[tuple[Process, Message | None]]"


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(eq=False)
class Process:
    """A worker process, and the run that it is doing.

    What it answers goes into the inbox, and None when it is no more. One of
    ``low_priority`` lets all other programs go first.
    """

    inbox: Inbox
    low_priority: bool = False
    run: Work | None = None
    _process: "subprocess.Popen[bytes]" = field(init=False)
    _reader: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM.format(path=_path())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=_environment(),
            start_new_session=True,  # Ctrl-C is for the parent alone, which then ends the others
        )
        if self.low_priority:
            with suppress(OSError):  # it may be gone already, which the inbox will say
                os.setpriority(os.PRIO_PROCESS, self._process.pid, LOWEST)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def tell(self, pickled: bytes) -> None:
        """Send something; if the process is no more, the inbox will say so."""
        with suppress(OSError):
            assert self._process.stdin is not None
            self._process.stdin.write(pickled)
            self._process.stdin.flush()

    def give(self, run: Work, folder: Path | None, track: tuple[str, ...] = ()) -> None:
        """Let it do a run, which leaves a folder of its own in ``folder``, if there is one.

        ``track`` are the names of trackers for it.
        """
        self.run = run
        own = folder / run.folder if folder else None
        self.tell(pickle.dumps(Task(run.experiment, own, track)))

    def hang_up(self) -> None:
        """End the conversation, upon which the process ends, if only after its round."""
        with suppress(OSError):
            assert self._process.stdin is not None
            self._process.stdin.close()

    def wait(self, seconds: float) -> int:
        """Return the exit code, of a kill if it takes longer than that."""
        try:
            return self._process.wait(max(0.0, seconds))
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()
        finally:
            self._reader.join(GRACE)  # no longer, should somebody else hold its output open

    def _read(self) -> None:
        assert self._process.stdout is not None
        try:
            with self._process.stdout as answers, suppress(EOFError, pickle.UnpicklingError):
                while True:
                    self.inbox.put((self, pickle.load(answers)))
        finally:  # whatever it was, nothing more will come
            self.inbox.put((self, None))


def hang_up(processes: Iterable[Process]) -> None:
    """End the conversations with processes, upon which these end, if only after their rounds."""
    for process in processes:
        process.hang_up()


def end(processes: Iterable[Process], grace: float) -> None:
    """End processes, all at the same time, and wait until they are gone, killed if need be."""
    processes = list(processes)
    hang_up(processes)
    deadline = monotonic() + grace
    for process in processes:
        process.wait(deadline - monotonic())


def _path() -> list[str]:
    """Return where modules are looked for: last of all here, where somebody's own files may be."""
    return [*map(str, sys.path), str(Path.cwd())]


def _environment() -> Mapping[str, Any]:
    """Return the environment with one thread for each library, where nobody has set their number.

    Runs side by side use cores better than threads inside of a run.
    """
    return {**dict.fromkeys(THREADS, "1"), **os.environ}
