"""Who owns which slots, held to a plain dictionary of lists."""

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from flexcfl.data import Federation, IndexLists, MadeLists
from flexcfl.protocol import Ids
from flexcfl.protocol.cohorts import Cohorts
from flexcfl.shifts import Shift, SwapAll, SwapPart, Timeline
from flexcfl.shifts.slots import Slots
from tests.shifts.worlds import lists, worlds


@given(st.lists(st.integers(0, 4), min_size=1, max_size=7), st.data())
def test_any_moves_give_what_a_dictionary_of_lists_gives(
    sizes: list[int], data: st.DataObject
) -> None:
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    slots = Slots(IndexLists(np.arange(offsets[-1]), offsets))
    naive = {c: set(range(offsets[c], offsets[c + 1])) for c in range(len(sizes))}
    clients = st.integers(0, len(sizes) - 1)
    for _ in range(data.draw(st.integers(0, 5))):
        moves = data.draw(
            st.dictionaries(st.integers(0, int(offsets[-1]) - 1), clients)
            if offsets[-1]
            else st.just({})
        )
        before = {client: set(own) for client, own in naive.items()}
        moving = np.array(list(moves), dtype=np.int64)
        taker = np.array(list(moves.values()), dtype=np.int64)
        giver = slots.owner_of(moving)
        after = slots.moved(moving, giver, taker)
        for slot, old, new in zip(moving.tolist(), giver.tolist(), taker.tolist(), strict=True):
            naive[old].remove(slot)  # which is an error where the owner was not known
            naive[new].add(slot)
        check(slots, before)
        check(after, naive)
        touched = set(giver.tolist()) | set(taker.tolist())
        assert set(after.others.tolist()) == set(slots.others.tolist()) | touched
        slots = after


def check(slots: Slots, naive: dict[int, set[int]]) -> None:
    everybody = np.arange(len(naive))
    assert lists(slots.of(everybody)) == [sorted(naive[client]) for client in everybody.tolist()]
    some = everybody[::-2]
    assert lists(slots.of(some)) == [sorted(naive[client]) for client in some.tolist()]
    owner = {slot: client for client, own in naive.items() for slot in own}
    assert slots.owner.tolist() == [owner[slot] for slot in range(len(slots))]
    assert slots.owner_of(np.arange(len(slots))).tolist() == slots.owner.tolist()


def on_demand(stored: IndexLists | MadeLists, examples: int) -> MadeLists:
    return MadeLists.of(lambda own: stored.gathered(own).indices, stored.sizes, examples)


@settings(max_examples=50)
@given(worlds(), st.integers(0, 100))
def test_clients_made_on_demand_live_in_the_same_world(world: Any, seed: int) -> None:
    federation, shifts, visited = world
    pool = len(federation.y)
    halves = (on_demand(federation.train, pool), on_demand(federation.test, pool))
    made = Federation("made", federation.x, federation.y, *halves, federation.classes)
    one, other = (Timeline(each, shifts, seed, visited) for each in (federation, made))
    for number in range(8):
        left, right = one.at(number), other.at(number)
        assert lists(left.train) == lists(right.train)
        assert lists(left.test) == lists(right.test)
        assert left.shifted.tolist() == right.shifted.tolist()


def test_a_step_makes_and_lists_nobody_but_those_who_exchange() -> None:
    clients, asked = 10_000, []

    def make(own: Ids) -> Ids:
        asked.extend(own.tolist())
        return (own[:, np.newaxis] + np.arange(4)).ravel() % 50

    made = MadeLists.of(make, np.full(clients, 4), 50)
    x, y = np.zeros((50, 1), dtype=np.float32), np.arange(50) % 10
    federation = Federation("made", x, y, made, made, 10)
    cohorts = Cohorts(0, np.zeros(clients, dtype=np.int64), 20)
    shifts: dict[str, Shift] = {"swap-part": SwapPart(0.5), "swap-all": SwapAll(0.5)}
    story = Timeline(federation, shifts, 0, cohorts.visited)
    asked.clear()
    for number in range(1, 6):
        view = story.at(number)
        assert set(asked) <= set(cohorts.visited(number).tolist())
        assert set(view.shifted.tolist()) <= set(cohorts.visited(number).tolist())
    assert len(view.shifted) > 10
    assert len(view.train.holdings.train.others) <= 80
    asked.clear()
    never = np.setdiff1d(np.arange(clients), cohorts.visited(6))[[5, 0]]
    view.train.gathered(never)
    view.label_counts_of(never)
    assert set(asked) == set(never.tolist())
