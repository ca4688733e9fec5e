"""Flower waits as we take it to, so that what is shortened is what there is."""

import inspect
import re
import time
from typing import Any

import pytest

pytest.importorskip("flwr")

from flwr.supercore.inflatable import inflatable_utils
from flwr.supernode import start_client_internal

from flexcfl.flower.local.fork_server import LONGEST_WAIT, shorten_waits

SUPERNODE: Any = start_client_internal
PULLS: Any = (inflatable_utils.pull_objects, inflatable_utils.pull_and_inflate_object_from_tree)


def test_no_wait_is_longer_than_a_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SUPERNODE, "time", time)
    for pull in PULLS:
        assert pull.__kwdefaults__["initial_backoff"] > LONGEST_WAIT
        monkeypatch.setitem(pull.__kwdefaults__, "initial_backoff", 1)
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    shorten_waits()
    for seconds in (3, 0.05):
        SUPERNODE.time.sleep(seconds)
    assert slept == [LONGEST_WAIT, 0.05]
    assert {pull.__kwdefaults__["initial_backoff"] for pull in PULLS} == {LONGEST_WAIT}


def test_a_supernode_takes_nothing_from_time_but_sleep() -> None:
    assert set(re.findall(r"\btime\.(\w+)", inspect.getsource(SUPERNODE))) == {"sleep"}
