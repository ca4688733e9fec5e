"""A pipe through which a ``ServerApp`` reports to the command that started it.

The command makes a named pipe and puts its path into the environment. Each line in the pipe is
JSON: a pair of an event and a text.
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

VARIABLE = "FLEXCFL_PIPE"
PIECE = 2**16


class Event(StrEnum):
    """What a ``ServerApp`` reports; each event comes with a text."""

    PID = "pid"  # the id of its process
    BEGUN = "begun"  # the number of rounds that were done before
    REMARK = "remark"  # a sentence for the user
    DONE = "done"
    MISTAKE = "mistake"  # the message of the error that ended the run
    GONE = "gone"  # only read: the other end is closed, for whatever reason


@contextmanager
def reporting(environment: Mapping[str, str] = os.environ) -> Iterator[list[Callback]]:
    """Report how the block ends, and yield the callbacks of the run in it.

    Nothing is reported if ``environment`` names no pipe.
    """
    _shorten_errors_in_log()
    path = environment.get(VARIABLE)
    if path is None:
        yield []
        return
    with FileIO(path, "w") as pipe:
        writer = _Writer(pipe)
        writer.report(Event.PID, str(os.getpid()))
        try:
            with redirect_stderr(writer):
                yield [_BeginReporter(writer)]
        except FlexcflError as error:
            writer.report(Event.MISTAKE, str(error))
            raise
        writer.report(Event.DONE, "")


class _Writer(TextIOBase):
    """Writes events into a pipe; what is written to it as a file becomes remarks."""

    def __init__(self, pipe: FileIO) -> None:
        self._pipe = pipe

    def report(self, event: Event, text: str) -> None:
        self._pipe.write(f"{json.dumps([event, text])}\n".encode())

    def write(self, text: str) -> int:
        if text:
            self.report(Event.REMARK, text)
        return len(text)


class _BeginReporter(Callback):
    """Reports that a run begins or is resumed."""

    def __init__(self, writer: _Writer) -> None:
        self._writer = writer

    def begin(self, beginning: Beginning) -> None:
        self._writer.report(Event.BEGUN, str(beginning.before))


class PipeReader:
    """The reading end of a new pipe at ``path``, for one ``ServerApp`` at a time."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self._path = path
        self._open()

    def _open(self) -> None:
        self._pipe = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK)
        self._rest, self._connected = b"", False

    def read(self) -> Iterator[tuple[Event, str]]:
        """Yield the events since the last call, each with its text."""
        while True:
            try:
                text = os.read(self._pipe, PIECE)
            except BlockingIOError:  # the other end is open, but silent
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
        """Drop the connection to the process at the other end, with what it has written."""
        self.close()
        self._open()

    def close(self) -> None:
        """Close the pipe."""
        os.close(self._pipe)


def _shorten_errors_in_log() -> None:
    """Let Flower's log show our errors as one sentence, without a traceback."""
    logger = logging.getLogger("flwr")
    if _without_traceback not in logger.filters:  # it stays: Flower logs the error after the block
        logger.addFilter(_without_traceback)


def _without_traceback(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, FlexcflError):
        record.msg, record.args, record.exc_info = str(error), (), None
    return True
