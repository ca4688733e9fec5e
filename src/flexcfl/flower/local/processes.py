"""Processes that never outlive the process that started them, even if that is killed.

Each leads a process group. A separate guard process, which runs this file and needs nothing but
Python, knows all groups. It reads lines from its standard input: ``add PGID`` and ``drop PGID`` for
groups, and ``folder PATH`` for a folder to remove. The input ends only when the process at the
other end is gone. Then the guard kills the groups and removes the folders.
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

PATIENCE = 10.0  # seconds until a killed process is gone
LINGERING = 1.0  # seconds until the processes that it started are gone


@dataclass(frozen=True, eq=False)
class LocalProcess:
    """A started process, with all processes that it starts; ``name`` is also that of its log."""

    name: str
    popen: "subprocess.Popen[bytes]"

    @property
    def pid(self) -> int:
        """The process id, which is also the id of its group."""
        return self.popen.pid

    @property
    def end(self) -> str | None:
        """How it ended, as text, or None while it runs."""
        code = self.popen.poll()
        if code is None:
            return None
        return f"exit code {code}" if code >= 0 else f"signal {-code}"


@dataclass(eq=False)
class LocalProcesses:
    """The processes of a federation, as a context manager that ends all that are left.

    Attributes:
        environment: The environment of every process.
        logs: The folder for their output, with a file for each.
        folder: The folder that the guard removes if this process cannot.

    """

    environment: Mapping[str, str]
    logs: Path
    folder: Path
    _running: list[LocalProcess] = field(default_factory=list)
    _guard: "subprocess.Popen[bytes]" = field(init=False)

    def __enter__(self) -> "LocalProcesses":
        # Isolated and without site-packages, so that no installed package can disturb it.
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
        """The group ids of the processes that were started and not ended here."""
        return [each.pid for each in self._running]

    def start(self, name: str, command: Sequence[str]) -> LocalProcess:
        """Start a process in a new group."""
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
        """Kill all processes."""
        self.end(*self._running)

    def end(self, *processes: LocalProcess) -> None:
        """Kill processes, with all that they started."""
        for each in processes:
            _kill_group(each.pid)
        for each in processes:
            each.popen.wait(PATIENCE)
            _await_end(each.pid)
            self._running.remove(each)
            self._tell(f"drop {each.pid}")

    def _tell(self, line: str) -> None:
        assert self._guard.stdin is not None
        with suppress(OSError):  # the guard was killed
            self._guard.stdin.write(f"{line}\n".encode())
            self._guard.stdin.flush()


def guard() -> None:
    """Read until the input ends, and then kill the groups that are left."""
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
    with suppress(ProcessLookupError, PermissionError):  # the group has no process left
        os.killpg(group, signal.SIGKILL)


def _await_end(group: int) -> None:
    """Wait until a killed group has no process left, except zombies without a parent."""
    end = time.monotonic() + LINGERING
    with suppress(ProcessLookupError, PermissionError):
        while time.monotonic() < end:
            os.killpg(group, 0)
            time.sleep(0.01)


if __name__ == "__main__":
    guard()
