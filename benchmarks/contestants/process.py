"""The driver's end of a contestant's process: start it, ask for rounds, end it and its children."""

import contextlib
import json
import os
import queue
import signal
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contestants.errors import ContestantError

__all__ = ["Answer", "Process"]

_FOLDER = Path(__file__).parent.parent
_FAREWELL = 20.0  # seconds for a contestant to end by itself
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@dataclass(frozen=True)
class Answer:
    """What a contestant says of a round."""

    seconds: float
    steps: int
    accuracy: float

    @property
    def microseconds(self) -> float:
        """Microseconds per client step."""
        return self.seconds / self.steps * 1e6


class Process:
    """A contestant at work, until ``end``; what it prints goes to ``log``.

    ``threads`` bounds what its libraries use; None leaves that to them.
    """

    def __init__(
        self, command: list[str], log: Path, timeout: float, threads: int | None = None
    ) -> None:
        self._log, self.timeout = log, timeout
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        with log.open("wb") as errors:
            self.popen = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                encoding="utf-8",
                env=_environment(threads),
                cwd=log.parent,
                # Ctrl-C then reaches the driver alone, which ends the whole group.
                start_new_session=True,
            )
        threading.Thread(target=self._read, daemon=True).start()

    def ready(self) -> dict[str, str]:
        """Wait until the contestant can take part, and return the versions of its packages."""
        versions: dict[str, str] = self._message()["ready"]
        return versions

    def round(self, number: int) -> Answer:
        """Let the contestant do a round."""
        with contextlib.suppress(BrokenPipeError):  # what it died of comes in place of an answer
            print(json.dumps({"round": number}), file=self.popen.stdin, flush=True)
        return Answer(**self._message())

    def end(self, *, at_once: bool) -> None:
        """End the process, which may first end by itself, and whatever it has started."""
        with contextlib.suppress(BrokenPipeError):
            self.popen.stdin.close()  # type: ignore[union-attr]
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.popen.wait(0 if at_once else _FAREWELL)
        with contextlib.suppress(ProcessLookupError, PermissionError):  # all have ended already
            os.killpg(self.popen.pid, signal.SIGKILL)
        self.popen.wait()

    def _read(self) -> None:
        with self.popen.stdout as answers:  # type: ignore[union-attr]
            for line in answers:
                self._lines.put(line)
        self._lines.put(None)

    def _message(self) -> dict[str, Any]:
        try:
            line = self._lines.get(timeout=self.timeout)
        except queue.Empty:
            raise ContestantError(f"took longer than {self.timeout:g} s") from None
        if line is None:
            raise ContestantError(f"died: {self._last_words()}")
        message: dict[str, Any] = json.loads(line)
        if "error" in message:
            raise ContestantError(message["error"])
        return message

    def _last_words(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.popen.wait(_FAREWELL)  # they may come after the end of its answers
        words = self._log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return words[-1] if words else "without a word"


def _environment(threads: int | None) -> dict[str, str]:
    environment = {name: value for name, value in os.environ.items() if name not in _THREADS}
    if threads is not None:
        environment |= dict.fromkeys(_THREADS, str(threads))
    return environment | {"PYTHONPATH": str(_FOLDER), "FLWR_TELEMETRY_ENABLED": "0"}
