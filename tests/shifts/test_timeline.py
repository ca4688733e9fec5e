"""The world over the rounds, for random federations and any shifts in any order."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexcfl.data import Federation
from flexcfl.data.variants import Variants
from flexcfl.errors import SettingsError, TrainingError
from flexcfl.protocol import Ids
from flexcfl.shifts import (
    SHIFTS,
    DataView,
    Holdings,
    Moment,
    Moves,
    Rotation,
    Shift,
    SwapAll,
    Timeline,
)
from flexcfl.shifts.view import HeldExamples
from flexcfl.testing.shifts import of_labels
from tests.shifts.worlds import LAST, apart, lists, moment, timeline, worlds

World: TypeAlias = tuple[Federation, Mapping[str, Shift], Callable[[int], Ids]]

ROUNDS = LAST + 2
TRAIN_KEPT = [name for name in SHIFTS if name != "incremental"]
WHOLE = ["swap-all", "recurring", "incremental", "label-permutation", "rotation"]
seeds = st.integers(0, 1000)
fewer = settings(max_examples=50)  # each is a world over many rounds


def views(world: World, seed: int, rounds: int = ROUNDS) -> list[DataView]:
    federation, shifts, visited = world
    story = Timeline(federation, shifts, seed, visited)
    return [story.at(number) for number in range(rounds + 1)]


def pool(view: DataView, owned: HeldExamples) -> Counter[int]:
    """Count the examples of the pool that all clients have together."""
    variants = view.variants
    indices = owned.indices if variants is None else variants.parts(owned.indices)[0]
    return Counter(indices.tolist())


def shown(view: DataView) -> tuple[Any, ...]:
    counts = view.label_counts.tolist()
    return lists(view.train), lists(view.test), view.shifted.tolist(), counts


@fewer
@given(worlds(TRAIN_KEPT), seeds)
def test_the_union_of_all_data_is_conserved(world: World, seed: int) -> None:
    federation = world[0]
    for view in views(world, seed):
        assert pool(view, view.train) == Counter(federation.train.indices.tolist())
        assert pool(view, view.test) == Counter(federation.test.indices.tolist())


@fewer
@given(worlds(), seeds)
def test_whatever_shifts_test_data_are_conserved_and_all_is_released_at_last(
    world: World, seed: int
) -> None:
    federation = world[0]
    everything = Counter(federation.train.indices.tolist())
    for view in views(world, seed):
        assert pool(view, view.test) == Counter(federation.test.indices.tolist())
        assert pool(view, view.train) <= everything
    assert pool(view, view.train) == everything


@fewer
@given(worlds(WHOLE), seeds)
def test_what_is_released_stays_released_where_clients_exchange_everything(
    world: World, seed: int
) -> None:
    federation, shifts, visited = world
    seen = views((apart(federation), shifts, visited), seed)
    released = [pool(view, view.train) for view in seen]
    assert all(earlier <= later for earlier, later in pairwise(released))


@fewer
@given(worlds(), seeds)
def test_every_client_always_has_something_to_train_on(world: World, seed: int) -> None:
    assert all(view.train.sizes.min() >= 1 for view in views(world, seed))


@fewer
@given(worlds(), seeds)
def test_every_slot_has_an_owner_and_old_holdings_stay_as_they_were(
    world: World, seed: int
) -> None:
    federation, shifts, _ = world
    holdings = frozen(Holdings.of(federation))
    for number in range(6):
        for shift in shifts.values():
            holdings = frozen(shift.apply(holdings, moment(federation, number, seed)))
        holdings = frozen(holdings.advanced(number))
        for owner, owned in (
            (holdings.train.owner, federation.train),
            (holdings.test.owner, federation.test),
        ):
            assert owner.shape == owned.indices.shape
            assert owner.dtype == np.int64
            assert not len(owner) or 0 <= owner.min() <= owner.max() < federation.clients
        assert (holdings.pending.due > number).all()
        assert len(np.unique(holdings.pending.slot)) == len(holdings.pending.slot)


def frozen(holdings: Holdings) -> Holdings:
    """Let every write into these holdings raise."""
    holdings.owner.setflags(write=False)
    halves = (holdings.train, holdings.test)
    parts: list[Any] = [holdings, holdings.pending, *halves, *(half.lists for half in halves)]
    for part in parts:
        for item in fields(part):
            value = getattr(part, item.name)
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
    return holdings


@fewer
@given(worlds(), seeds, st.lists(st.integers(0, ROUNDS), min_size=1, max_size=5))
def test_the_world_does_not_depend_on_what_was_asked_before(
    world: World, seed: int, order: list[int]
) -> None:
    expected = views(world, seed)
    federation, shifts, visited = world
    story = Timeline(federation, shifts, seed, visited)
    for number in order:
        assert shown(story.at(number)) == shown(expected[number])
        assert story.at(number) is story.at(number)


@fewer
@given(worlds(), seeds)
def test_shifted_are_the_clients_whose_rows_changed(world: World, seed: int) -> None:
    federation, shifts, visited = world
    # With an example of its own for every slot, no exchange can go unseen.
    seen = views((apart(federation), shifts, visited), seed)
    together = views(world, seed)
    assert seen[0].shifted.tolist() == []
    for before, now in pairwise(seen):
        old = list(zip(lists(before.train), lists(before.test), strict=True))
        new = list(zip(lists(now.train), lists(now.test), strict=True))
        assert now.shifted.tolist() == [c for c in range(len(new)) if old[c] != new[c]]
    assert [v.shifted.tolist() for v in together] == [v.shifted.tolist() for v in seen]


@fewer
@given(worlds(), seeds)
def test_label_counts_are_those_of_the_rows(world: World, seed: int) -> None:
    federation = world[0]
    for view in views(world, seed, rounds=5):
        variants = view.variants or Variants(len(federation.y), np.arange(federation.classes)[None])
        for client, rows in enumerate(view.train):
            _, labels = variants.gather(federation.x, federation.y, rows)
            counts = Counter(labels.tolist())
            expected = [counts[label] for label in range(federation.classes)]
            assert view.label_counts[client].tolist() == expected


@fewer
@given(worlds([]))
def test_without_shifts_the_lists_are_the_federations(world: World) -> None:
    federation = world[0]
    for view in views(world, seed=0, rounds=2):
        assert lists(view.train) == lists(federation.train)
        assert lists(view.test) == lists(federation.test)
        assert view.shifted.tolist() == []
        assert view.variants is None


@fewer
@given(worlds())
def test_clients_that_were_not_visited_only_wait_for_their_release(world: World) -> None:
    federation, shifts, _ = world
    story = Timeline(federation, shifts, 0, lambda number: np.array([0]))
    view = story.at(ROUNDS)
    assert lists(view.train)[1:] == lists(federation.train)[1:]
    assert lists(view.test)[1:] == lists(federation.test)[1:]


def test_rounds_in_which_nothing_happens_share_one_view() -> None:
    story = timeline(of_labels([[0], [1]]), swap_all=SwapAll(probability=0.0))
    assert story.at(1) is story.at(7)


def test_a_shift_that_cannot_work_is_refused_at_once() -> None:
    with pytest.raises(SettingsError, match="only one"):
        timeline(of_labels([[0]]), swap_all=SwapAll())


def test_the_shift_that_the_page_shows_works() -> None:
    page = (Path(__file__).parents[2] / "docs" / "shifts.md").read_text("utf-8")
    names: dict[str, Any] = {"__name__": "page"}
    exec(page.split("```python")[1].split("```")[0], names)
    federation = of_labels([[0], [1, 1], [2]], [[3], [], [4]])
    story = timeline(federation, carousel=names["Carousel"](period=2))
    assert lists(story.at(1).train) == lists(federation.train)
    assert lists(story.at(2).train) == lists(story.at(3).train) == [[3], [0], [1, 2]]
    assert lists(story.at(2).test) == [[5], [4], []]
    assert story.at(2).shifted.tolist() == [0, 1, 2]
    assert lists(story.at(6).train) == lists(federation.train)


def test_the_exchange_that_the_page_shows_works() -> None:
    page = (Path(__file__).parents[2] / "docs" / "shifts.md").read_text("utf-8")
    names: dict[str, Any] = {"np": np, "Holdings": Holdings}
    exec(page.split("```python")[2].split("```")[0], names)
    holdings = Holdings.of(of_labels([[0], [1, 1], [2]], [[3], [], [4]]))
    after = names["exchanged"](holdings, 0, 1)
    assert after.owner.tolist() == [1, 0, 0, 2, 1, 2]
    assert holdings.owner.tolist() == [0, 1, 1, 2, 0, 2]


@fewer
@given(seeds)
def test_swaps_move_examples_and_leave_the_clients_way_of_seeing(seed: int) -> None:
    federation = of_labels([[0], [1], [2], [3]])
    turning, both = (
        timeline(federation, seed, **shifts)
        for shifts in (
            {"rotation": Rotation(0.5)},
            {"rotation": Rotation(0.5), "swap_all": SwapAll(1.0)},
        )
    )
    for number in range(4):
        one, other = turning.at(number), both.at(number)
        assert one.variants is not None
        assert other.variants is not None
        turns = [
            one.variants.parts(one.train.indices)[2],
            other.variants.parts(other.train.indices)[2],
        ]
        assert turns[0].tolist() == turns[1].tolist()


def test_moves_are_carried_out_when_they_are_due() -> None:
    holdings = Holdings.of(of_labels([[0, 0], [1]], [[0], [1]]))
    moves = Moves(np.array([3, 4, 4]), np.array([0, 1, 3]), np.array([1, 1, 1]))
    waiting = holdings.owned(holdings.owner, pending=moves)
    assert waiting.busy.tolist() == [0, 1]
    assert waiting.advanced(2) is waiting
    assert waiting.advanced(3).owner.tolist() == [1, 0, 1, 0, 1]
    assert waiting.advanced(3).pending.slot.tolist() == [1, 3]
    assert waiting.advanced(4).owner.tolist() == [1, 1, 1, 1, 1]
    assert waiting.advanced(4).busy.tolist() == []


def test_every_shift_draws_for_itself() -> None:
    federation = of_labels([[client] * 2 for client in range(8)])
    # Both exchange all pairs: with the same draws the second would undo the first.
    one = Timeline(federation, {"a": SwapAll(1.0)}, 0, lambda _: np.arange(8)).at(1)
    both = {"a": SwapAll(1.0), "b": SwapAll(1.0)}
    two = Timeline(federation, both, 0, lambda _: np.arange(8)).at(1)
    assert lists(two.train) != lists(federation.train)
    assert lists(two.train) != lists(one.train)


def test_a_shift_that_leaves_a_client_with_nothing_is_told_by_name() -> None:
    class Greedy:
        variants = False

        def check(self, federation: Federation) -> None: ...

        def apply(self, holdings: Holdings, moment: Moment) -> Holdings:
            owner = holdings.owner.copy()
            owner[owner == 1] = 0
            return holdings.owned(owner) if moment.number == 2 else holdings

    federation = of_labels([[0, 1], [2], [3]])
    world = Timeline(federation, {"greedy": Greedy()})
    world.at(1)
    with pytest.raises(TrainingError, match=r"'greedy' leaves client 1 without .* in round 2:"):
        world.at(2)
