"""Clients that vanish, are late or send rubbish, driven by hand."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexcfl.protocol import Evaluate, Ids, Received, Trained
from flexcfl.record.checkpoints import flattened, rebuilt
from flexcfl.trust.faults import KINDS, Behaviour, Faults, StaleAnswers
from tests.record.checkpoints.interrupted import check_values
from tests.trust.faults.honest import (
    MODELS,
    PARAMETERS,
    Honest,
    behaviour,
    ids,
    orders,
    received,
    train,
    updates,
)

EVERYBODY = np.arange(40)
KINDS_OF_ORDER = sorted(orders(EVERYBODY))
WORK = ["train", "place", "migrate"]
CORRUPT = Faults(nan=0.2, infinite=0.2, huge=0.2, misshapen=0.2)


def of_kind(world: Behaviour, kind: str) -> Ids:
    return np.flatnonzero(world.roles.kind_of == KINDS.index(kind))


@pytest.mark.parametrize("kind", KINDS_OF_ORDER)
def test_where_nothing_goes_wrong_answers_pass_as_they_are(kind: str) -> None:
    order = orders(ids(7, 3, 9))[kind]
    got = received(behaviour(), order)
    check_values(got.reply, Honest(1)(order))
    assert (got.rounds, got.late) == (None, 0)


@pytest.mark.parametrize("kind", KINDS_OF_ORDER)
def test_who_is_away_hears_nothing_in_the_whole_round(kind: str) -> None:
    world, honest = behaviour(Faults(dropout=0.4)), Honest(3)
    away, executor = world.absence.away(3), world.at(3, honest)
    assert away is not None
    there = EVERYBODY[~away]
    for _ in range(2):
        got: Any = executor(orders(EVERYBODY)[kind])
        check_values(got.reply, Honest(3)(orders(there)[kind]))
        assert got.late == 0
    assert honest.heard == [there.tolist()] * 2
    assert 0 < len(there) < 40


@pytest.mark.parametrize("kind", WORK)
def test_who_vanishes_has_done_the_first_order_and_hears_no_other(kind: str) -> None:
    world, honest = behaviour(Faults(midway=0.4)), Honest(2)
    executor, vanishing = world.at(2, honest), world.absence.vanishing(2)
    assert vanishing is not None
    for _ in range(2):
        got: Any = executor(orders(EVERYBODY[:30])[kind])
        check_values(got.reply, Honest(2)(orders(EVERYBODY[:30][~vanishing[:30]])[kind]))
        assert got.late == 0
    later: Any = executor(orders(EVERYBODY)[kind])
    assert later.reply.clients.tolist() == EVERYBODY[~vanishing].tolist()
    # Those who were asked first in the last order did that one, and vanished over it.
    last = EVERYBODY[~vanishing | (EVERYBODY >= 30)].tolist()
    assert honest.heard == [list(range(30)), EVERYBODY[:30][~vanishing[:30]].tolist(), last]
    back: Any = world.at(3, Honest(3))(orders(EVERYBODY)[kind])
    assert set(back.reply.clients.tolist()) & set(EVERYBODY[vanishing].tolist())


@pytest.mark.parametrize("kind", WORK)
def test_who_is_late_has_done_the_work_and_is_counted(kind: str) -> None:
    world, honest = behaviour(Faults(slowness=2.0, time_budget=1.5)), Honest(2)
    executor, late = world.at(2, honest), world.absence.late(2)
    assert late is not None
    for _ in range(2):
        got: Any = executor(orders(EVERYBODY)[kind])
        check_values(got.reply, Honest(2)(orders(EVERYBODY[~late])[kind]))
        assert 0 < got.late == late.sum() < 40
    assert honest.heard == [EVERYBODY.tolist()] * 2


@pytest.mark.parametrize(
    ("kind", "faults"),
    [(kind, Faults(dropout=1.0)) for kind in KINDS_OF_ORDER]
    + [(kind, Faults(midway=1.0)) for kind in WORK],
)
def test_an_order_that_reaches_nobody_brings_an_empty_reply(kind: str, faults: Faults) -> None:
    honest, nobody = Honest(1), Honest(1)(orders(ids())[kind])
    executor = behaviour(faults).at(1, honest)
    for _ in range(2):
        got: Any = executor(orders(EVERYBODY)[kind])
        check_values(got.reply, nobody)
    assert honest.heard == [EVERYBODY.tolist()] * int(faults.midway == 1.0)


def test_evaluation_passes_untouched() -> None:
    order = Evaluate(EVERYBODY, MODELS, EVERYBODY * 0)
    faults = Faults(dropout=1.0, midway=1.0, slowness=10.0, nan=1.0)
    executor = behaviour(faults).at(1, Honest(1))
    check_values(executor(order), Honest(1)(order))


def spoilt(world: Behaviour, clients: Ids, number: int = 1) -> dict[int, tuple[Any, ...]]:
    got = received(world, train(clients), number)
    rows = zip(got.reply.clients.tolist(), got.reply.updates, got.reply.loss, strict=True)
    return {client: (np.array(update), loss) for client, update, loss in rows}


@given(st.permutations(range(40)), st.integers(0, 40), st.integers(0, 5))
def test_the_same_happens_whoever_else_is_asked_and_in_whatever_order(
    order: list[int], some: int, number: int
) -> None:
    faults = Faults(dropout=0.2, midway=0.2, slowness=1.0, nan=0.2, infinite=0.2, misshapen=0.2)
    all_together = spoilt(behaviour(faults), EVERYBODY, number)
    part = spoilt(behaviour(faults), ids(*order[:some]), number)
    assert part.keys() == all_together.keys() & set(order[:some])
    for client, own in part.items():
        check_values(own, all_together[client])


@pytest.mark.parametrize("purpose", ["training", "cold-start", "placement"])
def test_each_fault_spoils_what_it_says_and_nothing_else(purpose: Any) -> None:
    world, honest = behaviour(CORRUPT), updates(EVERYBODY, 1)
    got = received(world, train(EVERYBODY, purpose))
    sent = got.reply.updates
    assert isinstance(sent, list)
    assert got.rounds is None
    for client in of_kind(world, "nan"):
        assert np.flatnonzero(np.isnan(sent[client])).size == 1
        assert (sent[client] == honest[client]).sum() == PARAMETERS - 1
    for client in of_kind(world, "infinite"):
        assert np.flatnonzero(np.isinf(sent[client])).size == 1
        assert (sent[client] == honest[client]).sum() == PARAMETERS - 1
    for client in of_kind(world, "huge"):
        np.testing.assert_allclose(sent[client], 1e6 * honest[client], rtol=1e-6)
    for client in of_kind(world, "misshapen"):
        assert sent[client].shape != (PARAMETERS,)
    for client in np.flatnonzero(world.roles.kind_of == -1):
        np.testing.assert_array_equal(sent[client], honest[client])
    fine = Honest(1)(train(EVERYBODY, purpose))
    for name in ("clients", "examples", "loss", "model_of"):
        np.testing.assert_array_equal(getattr(got.reply, name), getattr(fine, name))


def test_the_place_of_what_is_no_number_varies() -> None:
    world = behaviour(Faults(nan=0.5, infinite=0.5))
    places = [
        np.argwhere(~np.isfinite(received(world, train(EVERYBODY), number).reply.updates))[:, 1]
        for number in range(4)
    ]
    assert len(set(np.concatenate(places).tolist())) == PARAMETERS
    assert len({tuple(each) for each in places}) == 4
    values = received(world, train(of_kind(world, "infinite"))).reply.updates
    assert {np.inf, -np.inf} <= set(values.ravel().tolist())


def test_shapes_are_wrong_in_several_ways() -> None:
    world = behaviour(Faults(misshapen=0.5))
    sent = [
        update.shape
        for number in range(4)
        for update in received(world, train(of_kind(world, "misshapen")), number).reply.updates
    ]
    assert {(1, PARAMETERS), (PARAMETERS + 1,), (PARAMETERS - 1,), (0,)} <= set(sent)
    assert (PARAMETERS,) not in sent


def test_updates_stay_one_array_where_shapes_are_right() -> None:
    sent = received(behaviour(Faults(huge=0.5)), train(EVERYBODY)).reply.updates
    assert (type(sent), sent.dtype, sent.shape) == (np.ndarray, np.float32, (40, PARAMETERS))


@pytest.mark.parametrize("kind", ["place", "migrate", "keep", "settle", "choose", "check"])
def test_faults_of_updates_concern_no_other_answer(kind: str) -> None:
    check_values(
        received(behaviour(CORRUPT), orders(EVERYBODY)[kind]).reply,
        Honest(1)(orders(EVERYBODY)[kind]),
    )


@pytest.mark.parametrize("kind", KINDS)
def test_what_clients_learnt_is_not_changed_under_their_hands(kind: str) -> None:
    held, before = (Honest(1)(train(EVERYBODY)) for _ in range(2))
    world = behaviour(Faults(**{kind: 0.5}))
    for number in (1, 2):
        world.at(number, lambda order: held)(train(EVERYBODY))
    check_values(held, before)


def test_stale_clients_answer_with_the_training_before() -> None:
    world = behaviour(Faults(stale=0.2))
    stale = of_kind(world, "stale")
    sound = np.setdiff1d(EVERYBODY, stale)
    assert len(stale) == 8
    first = received(world, train(EVERYBODY, "cold-start"), 0)
    assert first.reply.clients.tolist() == sound.tolist()
    assert received(world, train(EVERYBODY), 1).reply.clients.tolist() == sound.tolist()
    got = received(world, train(EVERYBODY), 4)
    assert got.rounds is not None
    assert got.reply.clients.tolist() == EVERYBODY.tolist()
    _check_answers(got, stale, 1)
    _check_answers(got, sound, 4)
    # What is learnt for another purpose is not sent later, and is not what they send then.
    for number, purpose, last in ((5, "placement", 4), (6, "training", 4), (7, "training", 6)):
        got = received(world, train(stale, purpose), number)  # type: ignore[arg-type]
        assert got.reply.clients.tolist() == stale.tolist()
        assert got.rounds is not None
        assert got.rounds.tolist() == [last] * 8
        np.testing.assert_array_equal(got.reply.updates, updates(stale, last))
    assert received(world, train(sound), 8).rounds is None


def _check_answers(got: Received, clients: Ids, number: int) -> None:
    assert got.rounds is not None
    said: Trained = Honest(number)(train(EVERYBODY))
    assert got.rounds[clients].tolist() == [number] * len(clients)
    for name in ("updates", "examples", "loss", "model_of"):
        sent, expected = getattr(got.reply, name)[clients], getattr(said, name)[clients]
        np.testing.assert_array_equal(sent, expected)


@pytest.mark.parametrize("until", [0, 1, 3])
def test_a_behaviour_that_recalls_goes_on_as_the_one_that_remembers(until: int) -> None:
    faults = Faults(dropout=0.3, midway=0.1, slowness=1.0, stale=0.3, nan=0.1, misshapen=0.1)

    def later(world: Behaviour) -> list[Received]:
        return [received(world, train(EVERYBODY), number) for number in range(4, 8)]

    one, other = behaviour(faults), behaviour(faults)
    for number in range(1, until + 1):
        received(one, train(EVERYBODY), number)
    arrays: list[np.ndarray] = []
    content = flattened(one.memory(), arrays)
    assert all(len(each) == 0 or each.size for each in arrays)
    assert all(each.shape == (PARAMETERS,) for each in arrays if each.dtype == np.float32)
    assert all(each.base is None for each in arrays), "rows would keep whole cohorts in memory"
    copied = [array.copy() for array in arrays]
    expected = later(one)
    check_values(arrays, copied)  # what is remembered does not change with the behaviour
    received(other, train(EVERYBODY), 9)  # wherever it has been before
    other.recall(rebuilt(StaleAnswers, content, copied))
    check_values(later(other), expected)


def test_without_stale_clients_next_to_nothing_is_remembered() -> None:
    world = behaviour(Faults(nan=0.5))
    received(world, train(EVERYBODY))
    arrays: list[np.ndarray] = []
    flattened(world.memory(), arrays)
    assert sum(each.nbytes for each in arrays) == 0


def test_a_memory_that_nobody_has_is_refused() -> None:
    none = ids()
    with pytest.raises(ValueError, match="different lengths"):
        StaleAnswers(ids(1), none, (), none, np.empty(0), none)
