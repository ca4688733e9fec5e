"""A clock for whole runs, so that nobody waits for a time limit."""

from functools import partial

import pytest

from flexcfl.flower.post import Post
from tests.flower.inprocess import Clock


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Return the clock of every run of a test; a grid must be given it for delays."""
    clock = Clock()
    timed = partial(Post, clock=clock, sleep=clock.sleep)
    monkeypatch.setattr("flexcfl.flower.federated.Post", timed)
    return clock
