"""A clock for whole runs, a disk that nobody waits for, and room for sockets."""

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from flexcfl.flower.channel import MessageChannel
from tests.flower.inprocess import Clock


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Return the clock of every run of a test; a grid must be given it for delays."""
    clock = Clock()
    timed = partial(MessageChannel, clock=clock, sleep=clock.sleep)
    monkeypatch.setattr("flexcfl.flower.server.MessageChannel", timed)
    return clock


@pytest.fixture(autouse=True, scope="module")
def at_once() -> Iterator[None]:
    """Let no run of this process wait for its disk: no test here cuts its power."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("flexcfl.disk.os.fsync", lambda file: None)
        yield


@pytest.fixture
def tmp() -> Iterator[Path]:
    """Return a folder with a name that is short enough for sockets in it."""
    with tempfile.TemporaryDirectory(prefix="test-") as folder:
        yield Path(folder)
