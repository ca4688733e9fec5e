"""Shifts between two clients: which clients exchange, what they exchange, and when."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from flexcfl.errors import SettingsError
from flexcfl.settings import validated
from flexcfl.shifts import Gradual, Holdings, Recurring, Shift, SwapAll, SwapPart, Timeline
from flexcfl.shifts.swaps import Pairing
from flexcfl.testing.shifts import of_labels
from tests.shifts.worlds import labels, lists, moment, timeline


def test_all_are_paired_and_an_odd_one_is_left_out() -> None:
    federation = of_labels([[0]] * 7)
    left_out = Counter[int]()
    for seed in range(200):
        ones, others = Pairing(1.0).pairs(Holdings.of(federation), moment(federation, seed=seed))
        together = [*ones.tolist(), *others.tolist()]
        assert len(together) == len(set(together)) == 6
        left_out[21 - sum(together)] += 1
    assert set(left_out) == set(range(7))


def test_each_way_to_pair_is_as_likely() -> None:
    federation = of_labels([[0]] * 4)
    partner_of_0 = Counter[int]()
    for seed in range(900):
        ones, others = Pairing(1.0).pairs(Holdings.of(federation), moment(federation, seed=seed))
        pairs = dict(zip(ones.tolist(), others.tolist(), strict=True))
        pairs |= {other: one for one, other in pairs.items()}
        partner_of_0[pairs[0]] += 1
    # 300 times each in the mean, with a standard deviation of about 14.
    assert all(abs(partner_of_0[other] - 300) < 5 * 14.2 for other in (1, 2, 3))


def test_a_higher_probability_only_adds_pairs() -> None:
    federation = of_labels([[0]] * 100)
    holdings = Holdings.of(federation)
    found = [
        set(zip(*Pairing(probability).pairs(holdings, moment(federation)), strict=True))
        for probability in (0.0, 0.2, 0.6, 1.0)
    ]
    assert [len(pairs) for pairs in found][::3] == [0, 50]
    assert found[0] < found[1] < found[2] < found[3]


def test_as_many_pairs_swap_as_the_probability_says() -> None:
    story = timeline(of_labels([[0]] * 1000), swap_all=SwapAll())
    shifted = sum(len(story.at(number).shifted) for number in range(1, 41))
    # 40 times 500 pairs at 0.05: 1,000 pairs in the mean, with a standard deviation of 30.8.
    assert abs(shifted / 2 - 1000) < 5 * 30.8


def test_swap_all_exchanges_training_and_test() -> None:
    story = timeline(of_labels([[0, 0], [1]], [[], [2, 2]]), swap_all=SwapAll(1.0))
    for number in range(5):
        view = story.at(number)
        train, test = [[0, 1], [2]], [[], [3, 4]]
        assert lists(view.train) == (train if number % 2 == 0 else train[::-1])
        assert lists(view.test) == (test if number % 2 == 0 else test[::-1])
        assert view.shifted.tolist() == ([0, 1] if number else [])


def test_swap_part_exchanges_the_labels_that_the_other_has_not() -> None:
    federation = of_labels([[0, 1, 0], [2, 1]], [[0, 1, 4], [0, 2, 1]])
    view = timeline(federation, swap_part=SwapPart(1.0)).at(1)
    assert lists(view.train) == [[1, 3], [0, 2, 4]]
    # Of the test examples those of label 0 go with it, and those of label 2 come.
    assert lists(view.test) == [[6, 7, 9], [5, 8, 10]]
    assert view.shifted.tolist() == [0, 1]


def test_swap_part_draws_among_all_labels_that_the_other_has_not() -> None:
    federation = of_labels([[0, 1, 2, 9], [3, 4, 9]])
    seen = {
        (tuple(kept), tuple(got))
        for seed in range(100)
        for kept, got in [labels(timeline(federation, seed, swap_part=SwapPart(1.0)).at(1))]
    }
    expected = set()
    for given in (0, 1, 2):
        for taken in (3, 4):
            one = sorted({0, 1, 2, 9} - {given} | {taken})
            expected.add((tuple(one), tuple(sorted({3, 4, 9} - {taken} | {given}))))
    assert seen == expected


@pytest.mark.parametrize("train", [[[0, 1], [1, 0]], [[0], [0, 1]], [[3, 4], [4]]])
def test_a_pair_with_nothing_to_exchange_stays_as_it_is(train: list[list[int]]) -> None:
    federation = of_labels(train, [[5], [6]])
    view = timeline(federation, swap_part=SwapPart(1.0)).at(1)
    assert lists(view.train) == lists(federation.train)
    assert lists(view.test) == lists(federation.test)
    assert view.shifted.tolist() == []


def test_facts_4_item_7_after_a_pair_with_nothing_to_exchange_the_others_go_on() -> None:
    federation = of_labels([[0], [0], [0], [1], [2], [3]])
    first_had_nothing = 0
    for seed in range(50):
        now = moment(federation, seed=seed)
        ones, others = Pairing(1.0).pairs(Holdings.of(federation), now)
        view = SwapPart(1.0).apply(Holdings.of(federation), moment(federation, seed=seed))
        before, after = Holdings.of(federation).train.owner, view.train.owner
        able = [federation.y[a] != federation.y[b] for a, b in zip(ones, others, strict=True)]
        first_had_nothing += not able[0] and any(able)
        for one, other, exchanges in zip(ones, others, able, strict=True):
            pair = [one, other]
            assert after[pair].tolist() == before[pair[::-1] if exchanges else pair].tolist()
    assert first_had_nothing > 3


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
