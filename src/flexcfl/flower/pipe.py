"""What a ``ServerApp`` tells the command that started it, beside the rounds in the run's folder.

The command makes a named pipe and puts its path into the environment. What comes through it are
lines of JSON, each a pair of what it is and its text.
"""

import json
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr
from io import FileIO, TextIOBase
from pathlib import Path

from flexcfl.errors import FlexcflError
from flexcfl.runner.callbacks import Beginning, Callback

__all__ = ["BEGUN", "DONE", "GONE", "MISTAKE", "PID", "REMARK", "VARIABLE", "Listener", "reporting"]

VARIABLE = "FLEXCFL_PIPE"
# Who tells, after how many rounds the run begins, what a person should know, and how it ended.
PID, BEGUN, REMARK, DONE, MISTAKE = "pid", "begun", "remark", "done", "mistake"
GONE = "gone"  # what is heard when the other end has ended, however it did
PIECE = 2**16


@contextmanager
def reporting(environment: Mapping[str, str] = os.environ) -> Iterator[list[Callback]]:
    """Tell how the block ends, and hand out who is to accompany the run in it.

    Where no command listens, nothing is told.
    """
    _tell_in_a_sentence()
    path = environment.get(VARIABLE)
    if path is None:
        yield []
        return
    with FileIO(path, "w") as pipe:
        teller = _Teller(pipe)
        teller.say(PID, str(os.getpid()))
        try:
            with redirect_stderr(teller):
                yield [_Accompanying(teller)]
        except FlexcflError as error:
            teller.say(MISTAKE, str(error))
            raise
        teller.say(DONE, "")


class _Teller(TextIOBase):
    """Speaks through a pipe; as a file, it takes remarks."""

    def __init__(self, pipe: FileIO) -> None:
        self._pipe = pipe

    def say(self, what: str, text: str) -> None:
        self._pipe.write(f"{json.dumps([what, text])}\n".encode())

    def write(self, text: str) -> int:
        if text:
            self.say(REMARK, text)
        return len(text)


class _Accompanying(Callback):
    """Tells that a run begins or goes on."""

    def __init__(self, teller: _Teller) -> None:
        self._teller = teller

    def begin(self, beginning: Beginning) -> None:
        self._teller.say(BEGUN, str(beginning.before))


class Listener:
    """The command's end of a new pipe at ``path``, for one ``ServerApp`` at a time."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self._path = path
        self._open()

    def _open(self) -> None:
        self._pipe = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK)
        self._rest, self._connected = b"", False

    def heard(self) -> Iterator[tuple[str, str]]:
        """Yield what was told since this was asked, and what it is."""
        while True:
            try:
                text = os.read(self._pipe, PIECE)
            except BlockingIOError:  # somebody is there, and silent
                return
            if not text:
                break
            self._connected = True
            *lines, self._rest = (self._rest + text).split(b"\n")
            for line in lines:
                what, said = json.loads(line)
                yield what, said
        if self._connected:
            self._rest, self._connected = b"", False
            yield GONE, ""

    def hang_up(self) -> None:
        """Forget who is at the other end, and what it has told."""
        self.close()
        self._open()

    def close(self) -> None:
        """Listen no more."""
        os.close(self._pipe)


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
