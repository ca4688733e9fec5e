"""Processes that never outlive who started them: each heads a group, and a guard knows them all."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Process", "Processes"]

GUARD = Path(__file__).with_name("guard.py")
PATIENCE = 10.0  # seconds for a process that was killed to be gone
LINGERING = 1.0  # and for what it had started, of which only the system can tell


@dataclass(frozen=True, eq=False)
class Process:
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
class Processes:
    """All processes of a federation; what is left of them ends with the block.

    What each prints goes into a file of its name in ``logs``. ``folder`` is removed by the guard if
    nobody else can any more.
    """

    environment: Mapping[str, str]
    logs: Path
    folder: Path
    _running: list[Process] = field(default_factory=list)
    _guard: "subprocess.Popen[bytes]" = field(init=False)

    def __enter__(self) -> "Processes":
        # Isolated and without site-packages: nothing that is installed can disturb it.
        command = [sys.executable, "-I", "-S", str(GUARD)]
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

    def start(self, name: str, command: Sequence[str]) -> Process:
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
        process = Process(name, popen)
        self._running.append(process)
        self._tell(f"add {process.pid}")
        return process

    def end(self, process: Process) -> None:
        """End a process at once, with all that it started."""
        self._kill([process])

    def end_all(self) -> None:
        """End all processes at once."""
        self._kill(list(self._running))

    def _kill(self, processes: Sequence[Process]) -> None:
        for each in processes:
            with suppress(ProcessLookupError, PermissionError):  # nobody is left of the group
                os.killpg(each.pid, signal.SIGKILL)
        for each in processes:
            each.popen.wait(PATIENCE)
            _await_end(each.pid)
            self._running.remove(each)
            self._tell(f"drop {each.pid}")

    def _tell(self, line: str) -> None:
        assert self._guard.stdin is not None
        with suppress(OSError):  # somebody has ended the guard
            self._guard.stdin.write(f"{line}\n".encode())
            self._guard.stdin.flush()


def _await_end(group: int) -> None:
    """Wait until nobody is left of a group that was killed, or only who is never asked after."""
    end = time.monotonic() + LINGERING
    with suppress(ProcessLookupError, PermissionError):
        while time.monotonic() < end:
            os.killpg(group, 0)
            time.sleep(0.01)
