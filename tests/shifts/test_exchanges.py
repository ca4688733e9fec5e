"""Exchanges that take several rounds: gradual and recurring."""

from typing import Any

import numpy as np
import pytest

from flexcfl.errors import SettingsError
from flexcfl.settings import validated
from flexcfl.shifts import Gradual, Recurring, Shift, SwapAll, SwapPart, Timeline
from flexcfl.testing.shifts import of_labels
from tests.shifts.worlds import labels, lists, timeline


def test_gradual_moves_equal_parts_in_random_order_until_all_has_moved() -> None:
    federation = of_labels([[0] * 8, [1] * 4], [[2] * 4, []])
    story = timeline(federation, gradual=Gradual(1.0, duration=4))
    first = set()
    for number in range(5):
        view = story.at(number)
        zeros = [own.count(0) for own in labels(view)]
        assert zeros == [8 - 2 * number, 2 * number]
        assert [own.count(1) for own in labels(view)] == [number, 4 - number]
        assert view.test.sizes.tolist() == [4 - number, number]
        assert view.shifted.tolist() == ([0, 1] if number else [])
        if number == 1:
            first = set(view.train[1].tolist()) & set(range(8))
    assert first != {0, 1}
    assert lists(story.at(4).train) == lists(federation.train)[::-1]
    # Only in the round after its end may the next exchange begin.
    assert [own.count(0) for own in labels(story.at(5))] == [2, 6]


def test_small_clients_keep_what_they_have_until_the_end() -> None:
    story = timeline(of_labels([[0], [1, 1]]), gradual=Gradual(1.0, duration=6))
    sizes = [story.at(number).train.sizes.tolist() for number in range(7)]
    assert sizes == [[1, 2], [1, 2], [1, 2], [2, 1], [2, 1], [2, 1], [2, 1]]
    assert labels(story.at(5)) == [[0, 1], [1]]
    assert labels(story.at(6)) == [[1, 1], [0]]


def test_gradual_in_one_round_is_swap_all() -> None:
    federation = of_labels([[c, c] for c in range(9)], [[c] for c in range(9)])
    at_once, swapped = (
        timeline(federation, seed=3, same=shift)
        for shift in (Gradual(0.5, duration=1), SwapAll(0.5))
    )
    for number in range(10):
        assert lists(at_once.at(number).train) == lists(swapped.at(number).train)
        assert lists(at_once.at(number).test) == lists(swapped.at(number).test)


def test_recurring_exchanges_everything_and_back_again() -> None:
    federation = of_labels([[0, 0], [1]], [[2], [3, 3]])
    story = timeline(federation, recurring=Recurring(1.0, period=3))
    for number in range(12):
        view, away = story.at(number), number % 4 in (1, 2, 3)
        for seen, own in ((view.train, federation.train), (view.test, federation.test)):
            assert lists(seen) == lists(own)[:: -1 if away else 1]
        assert view.shifted.tolist() == ([0, 1] if number and number % 4 < 2 else [])


@pytest.mark.parametrize("shift", [Gradual(0.3, duration=6), Recurring(0.3, period=6)])
def test_exchanges_that_began_in_different_rounds_all_come_to_their_end(
    shift: Gradual | Recurring,
) -> None:
    federation = of_labels([[c] * (c + 1) for c in range(10)], [[c] for c in range(10)])
    nobody = np.empty(0, dtype=np.int64)
    story = Timeline(
        federation, {"one": shift}, 0, lambda number: np.arange(10) if number <= 5 else nobody
    )
    busy = [len(story.at(number).shifted) for number in range(13)]
    assert sum(count > 0 for count in busy) > 3
    assert busy[12] == 0
    last = story.at(12)
    home = sorted(lists(federation.train))
    if isinstance(shift, Recurring):
        assert lists(last.train) == home
        assert lists(last.test) == lists(federation.test)
    else:
        assert sorted(lists(last.train)) == home != lists(last.train)


@pytest.mark.parametrize("shift", [Gradual(1.0, duration=5), Recurring(1.0, period=5)])
def test_who_is_in_the_middle_of_an_exchange_is_in_no_other_pair(
    shift: Gradual | Recurring,
) -> None:
    federation = of_labels([[c] * 5 for c in range(10)], [[c] for c in range(10)])
    swaps: dict[str, Shift] = {"swap_all": SwapAll(1.0), "swap_part": SwapPart(1.0)}
    alone = timeline(federation, 0, shift=shift)
    beside = timeline(federation, 0, shift=shift, **swaps)
    for number in range(1, 5):
        assert lists(beside.at(number).train) == lists(alone.at(number).train)
        assert lists(beside.at(number).test) == lists(alone.at(number).test)


@pytest.mark.parametrize(("type_", "name"), [(Gradual, "duration"), (Recurring, "period")])
@pytest.mark.parametrize("value", [0, -1, 2.5, "long"])
def test_a_number_of_rounds_is_whole_and_at_least_one(
    type_: type[Any], name: str, value: object
) -> None:
    with pytest.raises(SettingsError, match=rf"^\[shift\] {name} must be [^\n]*\.$"):
        validated(type_, {name: value}, "[shift]")
