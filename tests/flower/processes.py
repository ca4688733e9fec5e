"""Flower's real programs for tests, with an environment of their own, and none left behind."""

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from flexcfl.flower.local.programs import environment
from tests.waiting import PATIENCE

MARK = "FLEXCFL_TEST_PROGRAMS"
GRACE = 5.0  # seconds to end in
EXTRA = {
    "OMP_NUM_THREADS": "1",
    "COLUMNS": "200",  # so that no sentence is broken
    "NO_COLOR": "1",
}


@dataclass(frozen=True, eq=False)
class Program:
    """A process with all that it says in a file."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def until(self, sentence: str) -> None:
        """Wait until it says something."""
        end = time.monotonic() + PATIENCE
        while sentence not in self.said:
            assert time.monotonic() < end, self.said
            assert self.process.poll() is None, self.said
            time.sleep(0.1)

    def ended(self) -> int:
        """Wait for its end, and return its exit code."""
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still there after {PATIENCE} s: {self.said}") from None


@dataclass(eq=False)
class Programs:
    """Starts programs; at its end, they and whatever they have started themselves are gone.

    Flower's programs start others in sessions of their own, so all are known by a mark in their
    environment, which nobody else has.
    """

    folder: Path
    environment: dict[str, str] = field(init=False)
    programs: list[Program] = field(default_factory=list)

    def __post_init__(self) -> None:
        home, tmp = self.folder / "flwr", self.folder / "tmp"
        home.mkdir()
        tmp.mkdir()  # what a program that is killed leaves behind goes with the others' files
        own = {**EXTRA, "TMPDIR": str(tmp), MARK: str(self.folder)}
        self.environment = environment(home, own)

    def start(
        self,
        name: str,
        command: Sequence[object],
        folder: Path | None = None,
        extra: Mapping[str, object] | None = None,
    ) -> Program:
        more = {key: str(value) for key, value in (extra or {}).items()}
        log = self.folder / f"{name}.log"
        with log.open("wb") as file:
            process = subprocess.Popen(
                [str(word) for word in command],
                cwd=folder or self.folder,
                env={**self.environment, **more},
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.programs.append(Program(process, log))
        return self.programs[-1]

    def left(self) -> list[int]:
        mark = f"{MARK}={self.folder}".encode()
        return [
            int(each.name)
            for each in Path("/proc").iterdir()
            if each.name.isdigit() and mark in _environment(each)
        ]

    def kill(self, folder: Path) -> None:
        """Kill all processes that work in a folder, as when a machine fails."""
        for process in self.left():
            with suppress(FileNotFoundError, ProcessLookupError):  # which has ended by itself
                if Path(f"/proc/{process}/cwd").readlink() == folder:
                    os.kill(process, signal.SIGKILL)

    def __enter__(self) -> "Programs":
        return self

    def __exit__(self, *exception: object) -> None:
        for sign in (signal.SIGTERM, signal.SIGKILL):
            for process in self.left():
                with suppress(ProcessLookupError):
                    os.kill(process, sign)
            end = time.monotonic() + GRACE
            while self.left() and time.monotonic() < end:
                time.sleep(0.1)
        for program in self.programs:
            program.process.wait(GRACE)
        assert not self.left()


def _environment(process: Path) -> list[bytes]:
    try:
        return (process / "environ").read_bytes().split(b"\0")  # empty once it has ended
    except OSError:
        return []
