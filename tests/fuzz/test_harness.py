"""The fuzzing harness finds what a parser must not do."""

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from flexcfl.errors import DataError
from fuzz.harness import Hung, MisdeedError, Target, alarmed, judged


def refuse(sentence: str) -> None:
    raise DataError(sentence)


def made(parse: Callable[[Path], object]) -> Target:
    return Target(parse, (), multiple=2)


@pytest.mark.parametrize(
    ("parse", "finding"),
    [
        (lambda path: refuse("no full stop"), "not one sentence"),
        (lambda path: bytes(2**23), "bytes of memory for 3"),
        (lambda path: path.with_name("other").write_bytes(b""), "did .*open"),
        (lambda path: path.with_name("folder").mkdir(), r"did .*os\.mkdir"),
        (lambda path: path.rename(path.with_name("moved")), r"did .*os\.rename"),
        (lambda path: subprocess.run([sys.executable, "-c", ""], check=True), "did .*Popen"),
        (lambda path: socket.socket().connect_ex(("127.0.0.1", 9)), r"did .*socket\.connect"),
    ],
)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_misdeeds_are_found(tmp_path: Path, parse: Callable[[Path], object], finding: str) -> None:
    with pytest.raises(MisdeedError, match=finding):
        judged(made(parse), tmp_path, b"abc")


def test_an_error_that_is_no_sentence_goes_through(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        judged(made(lambda path: int(path.read_text())), tmp_path, b"abc")


def test_what_a_parser_returns_or_says_is_reported(tmp_path: Path) -> None:
    assert judged(made(Path.read_bytes), tmp_path, b"abc") is None
    assert judged(made(lambda path: refuse("It is so.")), tmp_path, b"") == "It is so."


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="This system has no alarms.")
def test_a_hang_is_broken_off(tmp_path: Path) -> None:
    with pytest.raises(Hung), alarmed(0.05):
        judged(made(lambda path: time.sleep(60)), tmp_path, b"")
