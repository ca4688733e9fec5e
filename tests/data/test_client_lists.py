"""Lists that are stored, and lists made on demand, which must be the same as if stored."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray

from flexcfl.data import Federation, IndexLists, MadeLists
from flexcfl.data.describe import label_counts
from flexcfl.errors import DataError

Ids = NDArray[np.int64]
POOL = 50
some_lists = st.lists(st.lists(st.integers(0, POOL - 1), max_size=5), min_size=1, max_size=8)


class Made:
    """Makes lists that are stored elsewhere, and remembers the requested clients."""

    def __init__(self, stored: IndexLists) -> None:
        self.stored = stored
        self.asked: list[int] = []

    def __call__(self, clients: Ids) -> ArrayLike:
        self.asked += clients.tolist()
        return self.stored.gathered(clients).indices


def both(lists: list[list[int]]) -> tuple[IndexLists, MadeLists, Made]:
    stored = IndexLists.of(lists)
    make = Made(stored)
    return stored, MadeLists.of(make, stored.sizes, POOL), make


def same(one: IndexLists, other: IndexLists) -> bool:
    return np.array_equal(one.indices, other.indices) and np.array_equal(one.offsets, other.offsets)


@given(st.lists(st.lists(st.integers(0, 100), max_size=5), max_size=8))
def test_flat_lists_hold_what_separate_lists_held(lists: list[list[int]]) -> None:
    flat = IndexLists.of(np.array(part, dtype=np.int64) for part in lists)
    assert [part.tolist() for part in flat] == lists
    assert flat.sizes.tolist() == [len(part) for part in lists]
    assert len(flat) == len(lists)


@pytest.mark.parametrize("client", [-1, 2])
def test_a_client_that_does_not_exist_has_no_stored_list(client: int) -> None:
    with pytest.raises(IndexError):
        IndexLists.of([[0, 1], [2]])[client]


@pytest.mark.parametrize(
    ("indices", "offsets"),
    [([0, 1, 2], [0, 2]), ([0, 1], [1, 2]), ([0, 1], [0, 2, 1, 2]), ([0], [])],
)
def test_offsets_must_fit_their_indices(indices: list[int], offsets: list[int]) -> None:
    with pytest.raises(DataError, match=r"IndexLists\.of"):
        IndexLists(np.array(indices), np.array(offsets, dtype=np.int64))


@given(some_lists, st.data())
def test_they_are_as_if_stored_and_made_for_nobody_but_those_asked_for(
    lists: list[list[int]], data: st.DataObject
) -> None:
    stored, made, make = both(lists)
    assert len(made) == len(lists)
    total = sum(map(len, lists))
    assert repr(made) == f"MadeLists(clients {len(lists)}, indices {total})"
    clients: Ids = np.array(data.draw(st.lists(st.integers(0, len(lists) - 1))), dtype=np.int64)
    assert same(made.gathered(clients), stored.gathered(clients))
    assert made.sizes_of(clients).tolist() == [len(lists[client]) for client in clients]
    assert set(make.asked) <= set(clients.tolist())
    assert [own.tolist() for own in made] == lists
    assert np.array_equal(made.indices, stored.indices)
    assert np.array_equal(made.sizes, stored.sizes)


@given(some_lists, st.data())
def test_what_stands_in_a_place_is_as_if_stored(
    lists: list[list[int]], data: st.DataObject
) -> None:
    stored, made, make = both(lists)
    total = len(stored.indices)
    places = st.lists(st.integers(0, total - 1)) if total else st.just([])
    slots = np.array(data.draw(places), dtype=np.int64)
    assert np.array_equal(made.take(slots), stored.take(slots))
    homes = np.repeat(np.arange(len(lists)), stored.sizes)[slots]
    assert set(make.asked) <= set(homes.tolist())


@pytest.mark.parametrize("client", [-1, 2])
def test_a_client_that_does_not_exist_has_no_list(client: int) -> None:
    with pytest.raises(IndexError):
        both([[1], [2]])[1][client]


@pytest.mark.parametrize("sizes", [[[1]], [1.5], [-1, 2], ["a"]])
def test_sizes_are_whole_numbers(sizes: ArrayLike) -> None:
    with pytest.raises(DataError, match="one whole number of at least 0 for each client"):
        MadeLists.of(lambda clients: clients, sizes, POOL)


@pytest.mark.parametrize("made", [[1, 2], [1, 2, 3, 4], [[1, 2, 3]], [0.5, 1.0, 2.0], 7])
def test_what_is_made_must_be_of_the_size_that_was_told(made: ArrayLike) -> None:
    lists = MadeLists.of(lambda clients: made, [1, 2], POOL)
    with pytest.raises(DataError, match="let the function return 3 whole numbers"):
        lists.gathered(np.array([0, 1]))


@pytest.mark.parametrize("strange", [-1, POOL])
def test_what_is_made_must_be_of_the_pool(strange: int) -> None:
    lists = MadeLists.of(lambda clients: [3, strange], [2], POOL)
    with pytest.raises(DataError, match=f"the example {strange}, but the pool has 0 to 49"):
        lists.gathered(np.array([0]))


def made_of(examples: int, make: Made | None = None) -> Federation:
    stored = IndexLists.of([[0, 1], [2], [3]])
    lists = MadeLists.of(make or Made(stored), stored.sizes, examples)
    x, y = np.zeros((4, 2), dtype=np.float32), np.array([0, 1, 1, 0])
    return Federation("made", x, y, lists, IndexLists.of([[], [], [0]]), 2)


def test_a_federation_of_them_makes_two_lists_for_a_try_and_can_be_described() -> None:
    make = Made(IndexLists.of([[0, 1], [2], [3]]))
    federation = made_of(4, make)
    assert make.asked == [0, 2]
    counts = label_counts(federation.train, federation.y, federation.classes)
    assert counts.tolist() == [[1, 1], [0, 1], [1, 0]]


def test_a_federation_must_have_the_pool_for_which_lists_are_made() -> None:
    with pytest.raises(DataError, match="made for a pool of 5 examples, and there are 4"):
        made_of(5)
    with pytest.raises(DataError, match="a pool of 3"):
        made_of(3)


def test_every_client_must_have_something_to_train_on() -> None:
    empty = MadeLists.of(lambda clients: [0], [1, 0], 4)
    x, y = np.zeros((4, 2), dtype=np.float32), np.zeros(4, dtype=np.int64)
    with pytest.raises(DataError, match="Client 1 of 'made' has no training example"):
        Federation("made", x, y, empty, empty, 2)
