"""What clients remember: references, who was stirred, and verdicts that stand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from flexcfl.errors import SettingsError
from flexcfl.protocol import Ids
from flexcfl.shifts.detection import LabelShare, Samples, Watch, detector

CLIENTS = 6


class World:
    """Clients' label counts, and a list of whose data were ever looked at."""

    def __init__(self, counts: NDArray[np.int64]) -> None:
        self.counts = counts
        self.asked: list[int] = []

    def samples_of(self, clients: Ids) -> Samples:
        self.asked += clients.tolist()
        return Samples(self.counts[clients], self.counts[clients].sum(axis=1), no_examples)


@pytest.fixture
def world() -> World:
    return World(np.tile([50, 50, 0], (CLIENTS, 1)))


def everybody() -> Ids:
    return np.arange(CLIENTS)


def settled(world: World, clients: Ids) -> Watch:
    made = Watch(LabelShare(), CLIENTS)
    made.settle(clients, world.samples_of(clients))
    world.asked.clear()
    return made


def test_a_change_is_seen_and_the_verdict_stands_until_the_client_is_placed(world: World) -> None:
    made = settled(world, everybody())
    world.counts[2] = [0, 50, 50]
    made.stir(np.array([2]))
    expected = [client == 2 for client in range(CLIENTS)]
    for _ in range(3):
        assert made.check(everybody(), world.samples_of).tolist() == expected
    assert world.asked == [2]
    world.counts[2] = [50, 50, 0]  # even if all is as before: the reply may have been lost
    made.stir(np.array([2]))
    assert made.check(everybody(), world.samples_of).tolist() == expected
    world.counts[2] = [0, 0, 9]
    made.settle(np.array([2]), world.samples_of(np.array([2])))
    made.stir(np.array([2]))
    assert not made.check(everybody(), world.samples_of).any()


def test_the_reference_is_the_last_placement_not_the_last_check(world: World) -> None:
    made = settled(world, everybody())
    seen = []
    for moved in (4, 8, 12, 16, 20, 24):  # bit by bit, each step too small by itself
        world.counts[0] = [50 - moved, 50, moved]
        made.stir(np.array([0]))
        seen.append(bool(made.check(np.array([0]), world.samples_of)[0]))
    assert seen == [False, False, True, True, True, True]


def test_who_does_not_know_what_its_data_were_like_cannot_say_that_they_are_the_same(
    world: World,
) -> None:
    made = Watch(LabelShare(), CLIENTS)
    made.stir(everybody())
    assert made.check(everybody(), world.samples_of).all()
    some = np.array([1, 4])
    made.settle(some, world.samples_of(some))
    world.asked.clear()
    assert np.flatnonzero(~made.check(everybody(), world.samples_of)).tolist() == [1, 4]
    world.counts[4] = [0, 0, 100]
    made.stir(everybody())
    assert np.flatnonzero(~made.check(everybody(), world.samples_of)).tolist() == [1]
    assert world.asked == [1, 4]  # the others have nothing to look at


def test_only_who_is_asked_and_was_stirred_is_looked_at(world: World) -> None:
    made = settled(world, everybody())
    world.counts[:] = [0, 0, 100]
    made.stir(np.array([1, 3, 5]))
    assert made.check(np.array([5, 0, 1]), world.samples_of).tolist() == [True, False, True]
    assert world.asked == [5, 1]
    assert made.check(np.array([3]), world.samples_of).tolist() == [True]


def test_nobody_is_no_trouble(world: World) -> None:
    nobody = np.empty(0, np.int64)
    made = Watch(LabelShare(), CLIENTS)
    made.settle(nobody, world.samples_of(nobody))
    made.stir(nobody)
    assert made.check(nobody, world.samples_of).shape == (0,)


def test_many_are_looked_at_in_parts_with_the_same_verdicts(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(detector, "AT_ONCE", 2)
    made = settled(world, everybody())
    world.counts[[0, 3, 4]] = [0, 0, 100]
    made.stir(everybody())
    assert np.flatnonzero(made.check(everybody(), world.samples_of)).tolist() == [0, 3, 4]
    assert world.asked == list(range(CLIENTS))


steps = st.lists(
    st.tuples(st.sampled_from(["change", "check", "settle"]), st.sets(st.integers(0, CLIENTS - 1))),
    max_size=12,
)


@given(steps, st.integers(0, 99))
def test_leaving_out_whose_data_did_not_change_changes_no_verdict(
    story: list[tuple[str, set[int]]], seed: int
) -> None:
    """The same story for a watch that is told everybody was stirred gives the same verdicts."""
    rng = np.random.default_rng(seed)
    world = World(np.tile([20, 20, 0], (CLIENTS, 1)))
    sparing, thorough = (Watch(LabelShare(), CLIENTS) for _ in range(2))
    standing = np.zeros(CLIENTS, dtype=np.bool_)
    for what, who in story:
        clients = np.array(sorted(who), dtype=np.int64)
        if what == "change":
            world.counts[clients] = rng.integers(0, 40, size=(len(clients), 3))
            sparing.stir(clients)
        elif what == "settle":
            for each in (sparing, thorough):
                each.settle(clients, world.samples_of(clients))
            standing[clients] = False
        else:
            thorough.stir(everybody())
            verdicts = sparing.check(clients, world.samples_of)
            assert np.array_equal(verdicts, thorough.check(clients, world.samples_of))
            assert (verdicts | ~standing[clients]).all()
            standing[clients] = verdicts


def test_profiles_are_kept_of_nobody_but_those_who_were_placed() -> None:
    made, counts = Watch(LabelShare(), 1_000_000), np.array([[50, 50, 0]])
    for client in (7, 999_999, 0, 7):
        made.settle(np.array([client]), Samples(counts, counts.sum(axis=1), no_examples))
    assert made.kept.shape[0] <= 4
    assert (made.row_of >= 0).sum() == 3
    asked = np.array([999_999, 3, 7])
    made.stir(asked)
    other = np.tile([[0, 0, 100]], (2, 1))
    verdicts = made.check(asked, lambda own: Samples(other, other.sum(axis=1), no_examples))
    assert verdicts.tolist() == [True, True, True]


def no_examples(client: int) -> tuple[NDArray[np.float32], Ids]:
    raise AssertionError("labels are enough here")


@pytest.mark.slow
def test_a_million_clients_are_checked_in_one_round() -> None:
    clients, labels, each = 1_000_000, 10, 4
    owner = np.repeat(np.arange(clients), each)
    before = np.random.default_rng(0).integers(labels, size=len(owner))
    moved = np.flatnonzero(np.arange(clients) % 1000 == 0)
    after = np.where(np.isin(owner, moved), (owner + 1) % labels, before)
    # Four of one label against four of another, for whom that can be more than chance.
    before[np.isin(owner, moved)] = (owner % labels)[np.isin(owner, moved)]
    made = Watch(LabelShare(), clients)
    ids = np.arange(clients)
    worlds = [
        World(np.bincount(owner * labels + seen, minlength=clients * labels).reshape(-1, labels))
        for seen in (before, after)
    ]
    made.settle(ids, worlds[0].samples_of(ids))
    made.stir(ids)
    assert np.array_equal(np.flatnonzero(made.check(ids, worlds[1].samples_of)), moved)


class Misshapen:
    """A detector that returns whatever it is told to."""

    def __init__(self, profiles: object, verdicts: object) -> None:
        self.made, self.verdicts = profiles, verdicts

    def profiles(self, samples: Samples) -> NDArray[np.float64]:
        made: NDArray[np.float64] = np.asarray(self.made, dtype=np.float64)
        return made

    def drifted(self, kept: NDArray[np.float64], now: NDArray[np.float64]) -> NDArray[np.bool_]:
        return np.asarray(self.verdicts)


@pytest.mark.parametrize("profiles", [3.0, [1.0, 2.0], [[1.0]], np.zeros((2, 1, 1))])
def test_profiles_of_another_shape_are_told(profiles: object, world: World) -> None:
    made, two = Watch(Misshapen(profiles, [True, True]), CLIENTS), np.array([0, 1])
    with pytest.raises(SettingsError, match=r"Misshapen makes profiles of shape .* for 2 clients"):
        made.settle(two, world.samples_of(two))


@pytest.mark.parametrize("verdicts", [True, [True], [1, 0], [[True, False]], [0.5, 1.0]])
def test_verdicts_of_another_shape_are_told(verdicts: object, world: World) -> None:
    made, two = Watch(Misshapen([[1.0], [2.0]], verdicts), CLIENTS), np.array([0, 1])
    made.settle(two, world.samples_of(two))
    made.stir(two)
    with pytest.raises(SettingsError, match=r"Misshapen gives verdicts of type .* for 2 clients"):
        made.check(two, world.samples_of)


def test_profiles_of_another_length_than_before_are_told(world: World) -> None:
    misshapen, two = Misshapen([[1.0], [2.0]], [True, True]), np.array([0, 1])
    made = Watch(misshapen, CLIENTS)
    made.settle(two, world.samples_of(two))
    misshapen.made = [[1.0, 2.0], [3.0, 4.0]]
    with pytest.raises(SettingsError, match="always of the same length"):
        made.settle(two, world.samples_of(two))


Deed = tuple[str, list[int]]
clients = st.lists(st.integers(0, CLIENTS - 1), unique=True).map(sorted)
deeds = st.lists(st.tuples(st.sampled_from(["settle", "stir", "check", "change"]), clients))


def done(made: Watch, world: World, deed: str, chosen: list[int]) -> list[bool]:
    """Do something with a watch and return what it says."""
    ids: Ids = np.array(chosen, dtype=np.int64)
    if deed == "settle":
        made.settle(ids, world.samples_of(ids))
    elif deed == "stir":
        made.stir(ids)
    elif deed == "check":
        made.check(ids, world.samples_of)
    elif len(ids):
        world.counts[ids] = np.roll(world.counts[ids], 1, axis=1)
    return [*made.stirred.tolist(), *made.standing.tolist()]


@given(deeds, deeds, deeds)
def test_a_watch_that_recalls_does_as_the_one_that_remembers(
    before: list[Deed], meanwhile: list[Deed], after: list[Deed]
) -> None:
    world, made, other = (
        World(np.tile([40, 9, 0], (CLIENTS, 1))),
        *(Watch(LabelShare(), CLIENTS) for _ in range(2)),
    )
    for deed in before:
        done(made, world, *deed)
    memory = made.memory()
    elsewhere = World(world.counts.copy())
    for deed in meanwhile:  # what the other knew, and what the first does next, is of no account
        done(other, elsewhere, *deed)
    other.recall(memory)
    first, second = World(world.counts.copy()), World(world.counts.copy())
    for deed in after:
        assert done(made, first, *deed) == done(other, second, *deed)
        assert first.asked == second.asked
    again = Watch(LabelShare(), CLIENTS)
    again.recall(memory)
    third = World(world.counts.copy())
    told = [done(again, third, *deed) for deed in after]
    assert not after or told[-1] == [*other.stirred.tolist(), *other.standing.tolist()]


def test_only_profiles_of_somebody_are_remembered(world: World) -> None:
    made = settled(world, np.array([4, 1]))
    made.settle(np.array([2]), world.samples_of(np.array([2])))
    memory = made.memory()
    assert memory.kept.shape == (3, 3)
    assert sorted(memory.row_of[[1, 2, 4]].tolist()) == [0, 1, 2]
