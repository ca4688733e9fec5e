"""Flower waits as we take it to, so that what is shortened is what there is."""

import inspect
import re
import time

import pytest

pytest.importorskip("flwr")

from flexcfl.flower.local.waits import LONGEST, PULLS, SUPERNODE, shorten


def test_no_wait_is_longer_than_a_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SUPERNODE, "time", time)
    for pull in PULLS:
        assert pull.__kwdefaults__["initial_backoff"] > LONGEST
        monkeypatch.setitem(pull.__kwdefaults__, "initial_backoff", 1)
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    shorten()
    for seconds in (3, 0.05):
        SUPERNODE.time.sleep(seconds)
    assert slept == [LONGEST, 0.05]
    assert {pull.__kwdefaults__["initial_backoff"] for pull in PULLS} == {LONGEST}


def test_a_supernode_takes_nothing_from_time_but_sleep() -> None:
    assert set(re.findall(r"\btime\.(\w+)", inspect.getsource(SUPERNODE))) == {"sleep"}
