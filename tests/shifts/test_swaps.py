"""Swap all and swap part, on clients that were made by hand."""

import pytest

from flexcfl.shifts import Holdings, SwapAll, SwapPart
from flexcfl.shifts.pairs import Pairing
from flexcfl.testing.shifts import of_labels
from tests.shifts.worlds import labels, lists, moment, timeline


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
