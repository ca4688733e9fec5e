"""Where a ``ServerApp`` shows its run: at the command that started it, or on its own output.

The command listens on a socket of this machine, which it names in the environment; what comes over
it are lines of JSON, each a pair of what it is and its text.
"""

import json
import logging
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr
from dataclasses import asdict, dataclass, field
from io import TextIOBase
from threading import Lock
from typing import Any

from rich.console import Console

from flexcfl.errors import FlexcflError

__all__ = ["DONE", "ERRORS", "MISTAKE", "OUTPUT", "PID", "Screen", "screen"]

VARIABLE = "FLEXCFL_SCREEN"
# What is said over the socket: who speaks, what it prints, and how it ended.
PID, OUTPUT, ERRORS, DONE, MISTAKE = "pid", "out", "err", "done", "mistake"


@dataclass(frozen=True)
class Screen:
    """A person's terminal, or file, as a process without one must know it; ``path`` leads there."""

    path: str
    width: int
    height: int
    terminal: bool
    quiet: bool
    encoding: str

    @classmethod
    def of(cls, console: Console, path: str) -> "Screen":
        """Return how a console looks from afar."""
        width, height = console.size
        return cls(path, width, height, console.is_terminal, console.quiet, console.encoding)

    @property
    def environment(self) -> dict[str, str]:
        """What a process is given that is to show its run there."""
        return {VARIABLE: json.dumps(asdict(self))}


@contextmanager
def screen(environment: Mapping[str, str] = os.environ) -> Iterator[Console]:
    """Hand out the console to show a run on, and tell how the block ended."""
    told = environment.get(VARIABLE)
    _tell_in_a_sentence()
    if told is None:
        yield Console()
        return
    there = Screen(**json.loads(told))
    with socket.socket(socket.AF_UNIX) as wire:
        wire.connect(there.path)
        line = _Line(wire)
        with redirect_stderr(_Stream(line, ERRORS, there)):
            yield from _shown(line, there)


def _shown(line: "_Line", there: Screen) -> Iterator[Console]:
    line.say(PID, str(os.getpid()))
    stream: Any = _Stream(line, OUTPUT, there)
    try:
        yield Console(
            file=stream,
            force_terminal=there.terminal,
            width=there.width,
            height=there.height,
            quiet=there.quiet,
        )
    except FlexcflError as error:
        line.say(MISTAKE, str(error))
        raise
    line.say(DONE, "")


@dataclass(eq=False)
class _Line:
    """Speaks over a socket; a spinner has a thread of its own that speaks as well."""

    wire: socket.socket
    _lock: Lock = field(default_factory=Lock)

    def say(self, what: str, text: str) -> None:
        with self._lock:
            self.wire.sendall(f"{json.dumps([what, text])}\n".encode())


class _Stream(TextIOBase):
    """A file whose text appears at the other end."""

    def __init__(self, line: _Line, what: str, there: Screen) -> None:
        self._line, self._what, self._there = line, what, there

    @property
    def encoding(self) -> str:  # type: ignore[override]  # by it Rich knows what can be shown
        return self._there.encoding

    def isatty(self) -> bool:
        return self._there.terminal

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if text:
            self._line.say(self._what, text)
        return len(text)


def _tell_in_a_sentence() -> None:
    """Let Flower's log tell a person's mistake by its sentence, without the way that led to it."""
    logger = logging.getLogger("flwr")
    if _sentence not in logger.filters:  # for good: Flower tells of it when the block has ended
        logger.addFilter(_sentence)


def _sentence(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, FlexcflError):
        record.msg, record.args, record.exc_info = str(error), (), None
    return True
