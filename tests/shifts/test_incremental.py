"""Training data that are released bit by bit."""

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest

from flexcfl.errors import SettingsError
from flexcfl.settings import assignments, validated
from flexcfl.shifts import Incremental, Release, SwapAll
from flexcfl.testing.shifts import of_labels
from tests.shifts.worlds import lists, timeline

BAD_SCHEDULES = [
    ([], "must begin with round 0"),
    ([{"round": 1, "share": 0.5}], "must begin with round 0"),
    ([{"round": 0, "share": 0.5}, {"round": 0, "share": 1}], "has the rounds 0, 0: "),
    ([{"round": 0, "share": 0.2}, {"round": 9, "share": 0.5}, {"round": 5, "share": 1}], "0, 9, 5"),
    ([{"round": 0, "share": 0.5}, {"round": 9, "share": 0.25}], "has the shares 0.5, 0.25: "),
    ([{"round": 0, "share": 0}], "share must be greater than 0"),
    ([{"round": 0, "share": 1.5}], "share must be less than or equal to 1"),
    ([{"round": -1, "share": 0.5}], "round must be greater than or equal to 0"),
    ([{"round": 0}], "share"),
    ("soon", "schedule must be a list"),
]


def test_facts_4_item_3_a_quarter_more_is_released_each_time_and_nothing_is_taken_back() -> None:
    federation = of_labels([[0] * 100, [1] * 40], [[0], [1]])
    story = timeline(federation, incremental=Incremental())
    released: list[set[int]] = []
    for number in (0, 49, 50, 99, 100, 149, 150, 299):
        view = story.at(number)
        released.append(set(view.train[0].tolist()))
        quarters = min(number // 50 + 1, 4)
        assert view.train.sizes.tolist() == [25 * quarters, 10 * quarters]
        assert view.test.sizes.tolist() == [1, 1]
        changed = number in (50, 100, 150)
        assert view.shifted.tolist() == ([0, 1] if changed else [])
    assert all(before <= after for before, after in pairwise(released))
    assert released[0] != set(range(25))  # a random quarter, not the first one


@pytest.mark.parametrize(
    ("share", "size", "expected"),
    [
        (0.25, 1, 1),
        (0.25, 2, 1),
        (0.25, 5, 1),
        (0.25, 6, 2),
        (0.25, 7, 2),
        (0.145, 100, 15),
        (1, 3, 3),
    ],
)
def test_a_share_is_rounded_to_the_nearest_and_at_least_one(
    share: float, size: int, expected: int
) -> None:
    shift = Incremental(schedule=(Release(0, share),))
    view = timeline(of_labels([[0] * size]), incremental=shift).at(0)
    assert view.train.sizes.tolist() == [expected]


def test_every_example_is_as_likely_among_the_first() -> None:
    federation = of_labels([[0] * 8])
    shift = Incremental(schedule=(Release(0, 0.25),))
    first = Counter[int]()
    for seed in range(800):
        first.update(timeline(federation, seed, incremental=shift).at(0).train[0].tolist())
    # 200 times each in the mean, with a standard deviation of about 12.
    assert all(abs(first[example] - 200) < 5 * 12.3 for example in range(8))


def test_what_is_released_moves_with_an_exchange_of_everything() -> None:
    federation = of_labels([[0] * 8, [1] * 20])
    still = timeline(federation, incremental=Incremental())
    swapped = timeline(federation, swap_all=SwapAll(1.0), incremental=Incremental())
    for number in (1, 50, 51):
        expected = lists(still.at(number).train)
        assert lists(swapped.at(number).train) == expected[:: -1 if number % 2 else 1]


@pytest.mark.parametrize(("schedule", "words"), BAD_SCHEDULES)
def test_a_bad_schedule_is_one_sentence(schedule: Any, words: str) -> None:
    with pytest.raises(SettingsError) as caught:
        validated(Incremental, {"schedule": schedule}, "[shift]")
    assert str(caught.value).startswith("[shift] ")
    assert words in str(caught.value)
    assert str(caught.value).endswith(".")


def test_a_schedule_can_be_set_on_the_command_line() -> None:
    table = assignments(["schedule=[{round = 0, share = 0.5}, {round = 9, share = 1}]"])
    shift = validated(Incremental, table, "[shift]")
    assert shift == Incremental(schedule=(Release(0, 0.5), Release(9, 1.0)))
