"""What a ``ServerApp`` reports to the command that started it, beside the run's folder.

The command makes a named pipe and puts its path into the environment. What comes through it are
lines of JSON, each a pair of an event and a text.
"""

import json
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr
from enum import StrEnum
from io import FileIO, TextIOBase
from pathlib import Path

from flexcfl.errors import FlexcflError
from flexcfl.runner.callbacks import Beginning, Callback

__all__ = ["VARIABLE", "Event", "PipeReader", "reporting"]

VARIABLE = "FLEXCFL_PIPE"
PIECE = 2**16


class Event(StrEnum):
    """What is reported of a ``ServerApp``; each event comes with a text."""

    PID = "pid"  # the number of its process
    BEGUN = "begun"  # after how many rounds the run begins
    REMARK = "remark"  # what a person should know
    DONE = "done"
    MISTAKE = "mistake"  # the sentence of the error that ended the run
    GONE = "gone"  # only read: the other end has ended, however it did


@contextmanager
def reporting(environment: Mapping[str, str] = os.environ) -> Iterator[list[Callback]]:
    """Report how the block ends, and hand out the callbacks of the run in it.

    Where no command reads, nothing is reported.
    """
    _shorten_errors_in_log()
    path = environment.get(VARIABLE)
    if path is None:
        yield []
        return
    with FileIO(path, "w") as pipe:
        writer = _Writer(pipe)
        writer.say(Event.PID, str(os.getpid()))
        try:
            with redirect_stderr(writer):
                yield [_BeginReporter(writer)]
        except FlexcflError as error:
            writer.say(Event.MISTAKE, str(error))
            raise
        writer.say(Event.DONE, "")


class _Writer(TextIOBase):
    """Writes into a pipe; as a file, it takes remarks."""

    def __init__(self, pipe: FileIO) -> None:
        self._pipe = pipe

    def say(self, event: Event, text: str) -> None:
        self._pipe.write(f"{json.dumps([event, text])}\n".encode())

    def write(self, text: str) -> int:
        if text:
            self.say(Event.REMARK, text)
        return len(text)


class _BeginReporter(Callback):
    """Reports that a run begins or goes on."""

    def __init__(self, writer: _Writer) -> None:
        self._writer = writer

    def begin(self, beginning: Beginning) -> None:
        self._writer.say(Event.BEGUN, str(beginning.before))


class PipeReader:
    """The command's end of a new pipe at ``path``, for one ``ServerApp`` at a time."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self._path = path
        self._open()

    def _open(self) -> None:
        self._pipe = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK)
        self._rest, self._connected = b"", False

    def read(self) -> Iterator[tuple[Event, str]]:
        """Yield the event and the text of what has come since the last call."""
        while True:
            try:
                text = os.read(self._pipe, PIECE)
            except BlockingIOError:  # the other end is there, and silent
                return
            if not text:
                break
            self._connected = True
            *lines, self._rest = (self._rest + text).split(b"\n")
            for line in lines:
                event, content = json.loads(line)
                yield Event(event), content
        if self._connected:
            self._rest, self._connected = b"", False
            yield Event.GONE, ""

    def reset(self) -> None:
        """Forget the process at the other end, and what it has written."""
        self.close()
        self._open()

    def close(self) -> None:
        """Read no more."""
        os.close(self._pipe)


def _shorten_errors_in_log() -> None:
    """Let Flower's log show a person's mistake by its sentence, without a traceback."""
    logger = logging.getLogger("flwr")
    if _without_traceback not in logger.filters:  # for good: Flower logs the error after the block
        logger.addFilter(_without_traceback)


def _without_traceback(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, FlexcflError):
        record.msg, record.args, record.exc_info = str(error), (), None
    return True
