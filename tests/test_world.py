"""The worlds that tests are run in: the same again for a seed, and of every kind."""

import itertools
import os
import signal
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.world import HOMES, LOCALES, WIDTHS, ZONES, World, hear_ctrl_c


def test_a_seed_is_always_the_same_world_and_a_few_are_of_every_kind() -> None:
    worlds = [World.of(seed) for seed in range(30)]
    assert worlds == [World.of(seed) for seed in range(30)]
    assert {each.columns for each in worlds} == set(WIDTHS)
    assert {each.zone for each in worlds} == set(ZONES)
    assert {each.locale for each in worlds} == set(LOCALES)
    assert {each.home for each in worlds} == set(HOMES)
    assert len({each.length for each in worlds}) > 10


def test_modules_and_the_tests_in_them_change_places_but_stay_together() -> None:
    items: Any = [SimpleNamespace(path=Path(f"{name}.py")) for name in "abcde" for _ in range(9)]
    orders = [World.of(seed).shuffled(items) for seed in (0, 0, 1)]
    assert orders[0] == orders[1] != orders[2]
    assert all(sorted(map(id, order)) == sorted(map(id, items)) for order in orders)
    modules = [each.path for each in orders[0]]
    assert sum(one != other for one, other in itertools.pairwise(modules)) == 4
    assert list(dict.fromkeys(modules)) != [Path(f"{name}.py") for name in "abcde"]


@pytest.mark.parametrize("length", [1, 40, 60])
def test_a_folder_has_the_length_that_was_drawn_if_there_is_room(
    tmp_path_factory: pytest.TempPathFactory, length: int
) -> None:
    world = World(0, None, "UTC0", "C", "own", length)
    with tempfile.TemporaryDirectory() as within:
        path = world.folder(within)
        assert len(str(path)) == max(length, len(within) + len("/t-12345678"))


def test_these_tests_are_in_the_world_that_was_asked_for(
    pytestconfig: pytest.Config, tmp_path: Path
) -> None:
    assert Path(pytestconfig.getoption("basetemp")).resolve() in tmp_path.parents
    world = World.of(pytestconfig.getoption("world"))
    assert {name: os.environ.get(name) for name in world.environment} == world.environment
    assert time.strftime("%Z", time.gmtime(0)) == "GMT"
    assert (
        time.localtime(0).tm_gmtoff == {"U": 0, "I": 19800, "<": 46800, "N": -12600}[world.zone[0]]
    )


def test_ctrl_c_is_heard_where_it_was_ignored_and_else_as_before() -> None:
    usual = signal.getsignal(signal.SIGINT)
    try:
        for before, after in (
            (signal.SIG_IGN, signal.default_int_handler),
            (signal.SIG_DFL, signal.SIG_DFL),
        ):
            signal.signal(signal.SIGINT, before)
            hear_ctrl_c()
            assert signal.getsignal(signal.SIGINT) is after
    finally:
        signal.signal(signal.SIGINT, usual)
