"""What a parser owes to strangers' files: a value or a sentence, little memory, no other deed.

The same judgement serves the Hypothesis tests in ``tests/fuzz`` and the fuzzer in ``fuzz/run.py``.
"""

import os
import signal
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from flexcfl.errors import FlexcflError

__all__ = ["Hung", "MisdeedError", "Target", "alarmed", "judged", "lay"]

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
DEEDS = {
    *("os.chmod", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink"),
    *("os.truncate", "os.fork", "os.exec", "os.posix_spawn", "os.system", "subprocess.Popen"),
    *("pickle.find_class", "socket.connect", "shutil.rmtree"),
}


class MisdeedError(AssertionError):
    """A parser that did what it must not do."""


class Hung(BaseException):
    """The time is up; not an ``Exception``, so that no parser takes it for a mistake of a file."""


def lay(folder: Path, content: bytes) -> Path:
    """Put the bytes where a parser looks for a file."""
    path = folder / "input"
    path.write_bytes(content)
    return path


@dataclass(frozen=True)
class Target:
    """A parser, files that it takes, and the memory it may use: ``constant + multiple * size``.

    The constant has room for what a parser needs whatever it reads, such as buffers of a megabyte.
    ``lay(folder, content)`` puts the bytes to where ``parse`` is told to look, which may be a
    folder with other files in it.
    """

    parse: Callable[[Path], object]
    seeds: tuple[bytes, ...]
    multiple: int
    constant: int = 2**22
    lay: Callable[[Path, bytes], Path] = lay


def judged(target: Target, folder: Path, content: bytes) -> str | None:
    """Let a parser read the bytes and return its sentence, or None where it took them.

    Whatever else happens raises: an error of another class at once, the rest as a ``MisdeedError``.
    """
    path = target.lay(folder, content)
    sentence = None
    with _watched() as deeds:
        tracemalloc.start(1)
        try:
            target.parse(path)
        except FlexcflError as error:
            sentence = str(error)
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
    allowed = target.constant + target.multiple * len(content)
    if peak > allowed:
        raise MisdeedError(f"{peak} bytes of memory for {len(content)} in the file, not {allowed}")
    if deeds:
        raise MisdeedError(f"a parser only reads, but did {deeds}")
    if sentence is not None:
        _demand_sentence(sentence)
    return sentence


def _demand_sentence(text: str) -> None:
    if not text.endswith((".", "?")) or len(text.splitlines()) != 1:
        raise MisdeedError(f"not one sentence: {text!r:.1000}")


@contextmanager
def alarmed(seconds: float = 60) -> Iterator[None]:
    """Break off what takes much longer than any file can need, where the system has alarms."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise Hung(f"not done after {seconds} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# Python cannot take an audit hook back: there is one, and it listens while a list is here.
_noted: list[list[str]] = []


def _note(event: str, arguments: tuple[object, ...]) -> None:
    if not _noted or not (event in DEEDS or event == "open"):
        return
    if event == "open":
        flags = arguments[2] if len(arguments) > 2 else 0
        # Modules are compiled when they are first imported, which is not the parser's doing.
        if not (isinstance(flags, int) and flags & WRITING) or "__pycache__" in str(arguments[0]):
            return
    _noted[-1].append(f"{event}{arguments[:2]}")


sys.addaudithook(_note)


@contextmanager
def _watched() -> Iterator[list[str]]:
    """Note every file that is written or moved, every process and every connection."""
    deeds: list[str] = []
    _noted.append(deeds)
    try:
        yield deeds
    finally:
        _noted.pop()
