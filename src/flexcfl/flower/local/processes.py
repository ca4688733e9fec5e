"""Processes that never outlive the one that started them, even if that is killed.

Each heads a group of processes. A guard knows all groups and ends them: it runs this file as a
program of its own, which needs nothing but Python. It reads from its standard input, a line each,
``add PGID`` and ``drop PGID`` for groups, and ``folder PATH`` for a folder that is to be removed.
Only when the process at the other end is gone does the input end, and then the guard acts.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["LocalProcess", "LocalProcesses", "guard"]

PATIENCE = 10.0  # seconds for a process that was killed to be gone
LINGERING = 1.0  # and for what it had started, of which only the system can tell


@dataclass(frozen=True, eq=False)
class LocalProcess:
    """One that was started, with all that it starts; ``name`` is that of its log."""

    name: str
    popen: "subprocess.Popen[bytes]"

    @property
    def pid(self) -> int:
        """Its number, which is that of its group as well."""
        return self.popen.pid

    @property
    def end(self) -> str | None:
        """How it ended, in words, or None while it has not."""
        code = self.popen.poll()
        if code is None:
            return None
        return f"exit code {code}" if code >= 0 else f"signal {-code}"


@dataclass(eq=False)
class LocalProcesses:
    """All processes of a federation; what is left of them ends with the block.

    What each prints goes into a file of its name in ``logs``. ``folder`` is removed by the guard if
    this process cannot.
    """

    environment: Mapping[str, str]
    logs: Path
    folder: Path
    _running: list[LocalProcess] = field(default_factory=list)
    _guard: "subprocess.Popen[bytes]" = field(init=False)

    def __enter__(self) -> "LocalProcesses":
        # Isolated and without site-packages: nothing that is installed can disturb it.
        command = [sys.executable, "-I", "-S", __file__]
        self._guard = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
        self._tell(f"folder {self.folder}")
        return self

    def __exit__(self, *exception: object) -> None:
        self.end_all()
        assert self._guard.stdin is not None
        with suppress(OSError):
            self._guard.stdin.close()
        self._guard.wait()

    @property
    def groups(self) -> list[int]:
        """The numbers of the groups of all that were started and not ended here."""
        return [each.pid for each in self._running]

    def start(self, name: str, command: Sequence[str]) -> LocalProcess:
        """Start a process, in a group of its own."""
        with (self.logs / f"{name}.log").open("ab") as log:
            popen = subprocess.Popen(
                command,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        process = LocalProcess(name, popen)
        self._running.append(process)
        self._tell(f"add {process.pid}")
        return process

    def end_all(self) -> None:
        """End all processes at once."""
        self.end(*self._running)

    def end(self, *processes: LocalProcess) -> None:
        """End processes at once, with all that they started."""
        for each in processes:
            _kill_group(each.pid)
        for each in processes:
            each.popen.wait(PATIENCE)
            _await_end(each.pid)
            self._running.remove(each)
            self._tell(f"drop {each.pid}")

    def _tell(self, line: str) -> None:
        assert self._guard.stdin is not None
        with suppress(OSError):  # the guard was ended
            self._guard.stdin.write(f"{line}\n".encode())
            self._guard.stdin.flush()


def guard() -> None:
    """Read until the input ends, and then end all that is left."""
    groups: list[int] = []
    folders: list[str] = []
    for line in sys.stdin:
        what, _, value = line.rstrip("\n").partition(" ")
        if what == "add":
            groups.append(int(value))
        elif what == "drop":
            groups.remove(int(value))
        else:
            folders.append(value)
    for group in groups:
        _kill_group(group)
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def _kill_group(group: int) -> None:
    with suppress(ProcessLookupError, PermissionError):  # nobody is left of it
        os.killpg(group, signal.SIGKILL)


def _await_end(group: int) -> None:
    """Wait until nobody is left of a group that was killed, or only zombies without a parent."""
    end = time.monotonic() + LINGERING
    with suppress(ProcessLookupError, PermissionError):
        while time.monotonic() < end:
            os.killpg(group, 0)
            time.sleep(0.01)


if __name__ == "__main__":
    guard()
