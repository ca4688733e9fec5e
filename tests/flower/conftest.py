"""A clock for whole runs, a disk that nobody waits for, and room for sockets."""

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from flexcfl.flower.channel import MessageChannel
from tests.flower.inprocess import Clock
from tests.flower.nodes import lay


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
def config(tmp_path: Path) -> dict[str, Any]:
    """Return the configuration of a node that hosts two clients with files of their own."""
    files, memory = lay(tmp_path / "files"), tmp_path / "memory"
    return {"clients": "1 5", "files": str(files), "memory": str(memory)}


@pytest.fixture
def tmp() -> Iterator[Path]:
    """Return a folder with a name that is short enough for sockets in it."""
    with tempfile.TemporaryDirectory(prefix="test-") as folder:
        yield Path(folder)
