"""FeSEM, driven by hand, on clients in closed form, and against a direct transcription."""

import doctest
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import pairwise_distances_argmin

import flexcfl
from flexcfl.algorithms.fedavg import FedAvg
from flexcfl.algorithms.fesem import FeSEM, FesemOptions, FesemState, memory
from flexcfl.errors import SettingsError
from flexcfl.protocol import NO_GROUP, Conversation, Local, Train, Trained
from flexcfl.settings import validated
from tests.algorithms.driving import advanced, rng, started

Make = Callable[..., Any]

RATE = 0.5
ALL = np.ones(5, dtype=np.bool_)


def fesem(**options: Any) -> FeSEM:
    return FeSEM(Local(rate=RATE), FesemOptions(**options))


def state_of(models: Any, group_of: Any, local_models: Any) -> FesemState:
    vectors = tuple(None if own is None else np.array(own, np.float32) for own in local_models)
    return FesemState(np.array(models, np.float32), np.array(group_of, np.int64), vectors)


def result(talk: Conversation[FesemState], reply: Any = None) -> FesemState:
    """Return how a conversation ends, which it must do with this reply."""
    with pytest.raises(StopIteration) as stop:
        talk.send(reply)
    state: FesemState = stop.value.value
    return state


def assigned(state: FesemState, cohort: Any, seed: int = 0) -> list[int]:
    """Return the groups that a round gives to a cohort."""
    present = np.ones(len(state.group_of), dtype=np.bool_)
    order = next(fesem().round(state, np.array(cohort, np.int64), present, rng(seed)))
    assert isinstance(order, Train)
    assert isinstance(order.model_of, np.ndarray)
    groups: list[int] = order.model_of.tolist()
    return groups


def lists(state: FesemState) -> list[Any]:
    own = [None if vector is None else vector.tolist() for vector in state.local_models]
    return [state.models.tolist(), state.group_of.tolist(), own]


def test_a_conversation_by_hand() -> None:
    method = fesem(groups=3)
    own = [[9, 9], None, [16, 16], [1, 0], [11, 12]]
    state = state_of([[0, 0], [10, 10], [20, 20]], [0, NO_GROUP, 2, 0, 1], own)
    before = lists(state)

    # Client 0 has come nearer to group 1; 3 is nearest to group 0, 4 to group 1.
    talk = method.round(state, np.array([0, 3, 4]), ALL, rng())
    order = next(talk)
    assert isinstance(order, Train)
    assert order.clients.tolist() == [0, 3, 4]
    assert order.models is state.models
    assert isinstance(order.model_of, np.ndarray)
    assert order.model_of.tolist() == [1, 0, 1]
    assert order.local == method.local
    assert order.purpose == "training"
    assert order.down_bytes == 3 * 2 * 4  # one model of two float32 numbers to each

    # Client 3 stays silent; group 2 is empty.
    updates = np.array([[2, 4], [4, 0]], np.float32)
    reply = Trained(np.array([0, 4]), updates, np.array([9, 1]), np.zeros(2), np.array([1, 1]))
    after = result(talk, reply)
    assert lists(after) == [
        [[0, 0], [13, 12], [20, 20]],
        [1, NO_GROUP, 2, 0, 1],
        [[12, 14], None, [16, 16], [1, 0], [14, 10]],
    ]
    assert after.models.dtype == np.float32
    assert method.serving(after).models is after.models
    assert method.serving(after).model_of is after.group_of
    assert lists(state) == before


@pytest.mark.parametrize(("start", "different"), [("common", 1), ("distinct", 3)])
def test_groups_start_from_one_random_model_or_different_ones(start: str, different: int) -> None:
    def initial(rng: np.random.Generator) -> np.ndarray:
        return rng.normal(size=4).astype(np.float32)

    state = result(fesem(groups=3, start=start).start(initial, ALL, rng(7)))
    again = rng(7)
    models = [initial(again) for _ in range(different)]
    assert np.array_equal(state.models, models * (3 // different))
    assert len(np.unique(state.models, axis=0)) == different
    assert state.group_of.tolist() == [NO_GROUP] * 5
    assert state.local_models == (None,) * 5


# From distinct models, no client with real images ever moves: a fact of the released code.
def test_clients_of_a_real_federation_move() -> None:
    moves = {}
    for start in ("common", "distinct"):
        settings = {"algorithm.start": start, "local.epochs": 2}
        run = flexcfl.run(algorithm="fesem", shift="none", rounds=20, set=settings)
        moves[start] = run.summary["migrations"]
    assert moves["common"] > 10 > 0 == moves["distinct"]


# In published code untrained clients share one local model, so a cohort lands in one group.
def test_the_first_assignment_spreads_a_cohort_over_the_groups() -> None:
    state = state_of(np.zeros((3, 2)), [NO_GROUP] * 600, [None] * 600)
    groups = assigned(state, range(600))
    # 200 clients a group are expected, with a standard deviation of about 12.
    assert (np.bincount(groups, minlength=3) > 150).all()
    assert groups != assigned(state, range(600), seed=1)


def test_what_a_new_client_draws_does_not_depend_on_the_others() -> None:
    state = state_of(np.eye(5, 2), [0, *[NO_GROUP] * 29], [[0, 1], *[None] * 29])
    together = assigned(state, range(30))
    assert together[0] == 1  # this one has trained, and its model is the second group's
    assert [assigned(state, [client])[0] for client in range(30)] == together


def test_the_first_of_equally_near_groups_is_taken() -> None:
    state = state_of([[3, 0], [0, 1], [1, 0], [0, 1]], [3] * 5, [[0, 0]] * 5)
    assert assigned(state, [4, 1]) == [1, 1]


def test_distances_that_float32_would_confuse_are_distinguished() -> None:
    state = state_of([[8192, 0.51], [8192, 0.5]], [0] * 5, [[0, 0]] * 5)
    in_float32 = (state.models**2).sum(axis=1)
    assert in_float32[0] == in_float32[1]
    assert assigned(state, [2]) == [1]


# Published code gives one weight for all of them, so that only the first client's update counts.
@given(st.lists(st.integers(-100, 100), min_size=1, max_size=5))
def test_simple_averaging_uses_the_updates_of_all_clients_of_a_group(numbers: list[int]) -> None:
    clients = np.arange(len(numbers))
    updates = np.array(numbers, np.float32)[:, np.newaxis]
    talk = fesem(groups=1).round(state_of([[7]], [0] * 5, [None] * 5), clients, ALL, rng())
    next(talk)
    reply = Trained(clients, updates, 10**clients, np.zeros(len(clients)), clients * 0)
    assert result(talk, reply).models[0, 0] == pytest.approx(
        7 + sum(numbers) / len(numbers), abs=1e-4
    )


def test_averaging_by_examples_is_an_option() -> None:
    updates = np.array([[1], [5]], np.float32)
    pair = np.array([0, 1])
    for averaging, expected in (("simple", 3), ("examples", 2)):
        method = fesem(groups=1, averaging=averaging)
        talk = method.round(state_of([[0]], [NO_GROUP] * 5, [None] * 5), pair, ALL, rng())
        next(talk)
        reply = Trained(pair, updates, np.array([3, 1]), np.zeros(2), pair * 0)
        assert result(talk, reply).models.tolist() == [[expected]]


def test_one_group_weighted_by_examples_is_fedavg(parabolas: Make) -> None:
    federation, runs = parabolas(6), []
    for method in (fesem(groups=1, averaging="examples"), FedAvg(Local(rate=RATE))):
        state = started(method, federation)
        runs.append(advanced(method, state, federation, [0, 3, 5], [1, 2], [5]).models)
    assert np.array_equal(runs[0], runs[1])


@pytest.mark.parametrize("averaging", ["simple", "examples"])
@pytest.mark.parametrize("seed", range(4))
def test_rounds_against_a_direct_transcription(parabolas: Make, seed: int, averaging: str) -> None:
    federation, method = parabolas(9, silent=frozenset({4})), fesem(groups=3, averaging=averaging)
    state = started(method, federation, seed)
    cohorts = [rng(100 + 10 * seed + number).choice(9, 4, replace=False) for number in range(8)]
    after = advanced(method, state, federation, *cohorts)

    centres, group_of = state.models.astype(np.float64), [NO_GROUP] * 9
    own: dict[int, np.ndarray] = {}
    for number, cohort in enumerate(cohorts):
        drawn, old = rng(number).integers(3, size=9), centres.copy()
        nearest = {client: pairwise_distances_argmin([own[client]], old)[0] for client in own}
        answering = [client for client in cohort if client != 4]
        for client in answering:
            group_of[client] = nearest.get(client, drawn[client])
            begin = old[group_of[client]]
            own[client] = begin + RATE * (federation.targets[client] - begin)
        for group in range(3):
            members = [client for client in answering if group_of[client] == group]
            size = [client + 1 if averaging == "examples" else 1 for client in members]
            if members:
                centres[group] = np.average([own[each] for each in members], axis=0, weights=size)

    np.testing.assert_allclose(after.models, centres, rtol=1e-4, atol=1e-5)
    assert after.group_of.tolist() == group_of
    for client, vector in enumerate(after.local_models):
        assert (vector is None) == (client not in own)
        if vector is not None:
            np.testing.assert_allclose(vector, own[client], rtol=1e-4, atol=1e-5)


def test_rounds_share_the_local_models_of_those_who_did_not_train(parabolas: Make) -> None:
    federation, method = parabolas(6), fesem(groups=3)
    before = advanced(method, started(method, federation), federation, [0, 1, 2])
    copies = lists(before)
    after = advanced(method, before, federation, [1, 3])
    shared = [after.local_models[client] is before.local_models[client] for client in range(6)]
    assert shared == [True, False, True, False, True, True]
    assert lists(before) == copies


def test_all_local_models_take_the_memory_foretold(parabolas: Make) -> None:
    federation, method = parabolas(6), fesem()
    state = advanced(method, started(method, federation), federation, range(6), [0, 1, 2])
    # Copies: views would keep the whole arrays alive.
    assert all(vector.base is None for vector in state.local_models)
    held = sum(vector.nbytes for vector in state.local_models)
    assert held == memory(method.options, clients=6, parameters=3) == 72


def test_the_example_in_the_documentation() -> None:
    assert doctest.testmod(importlib.import_module("flexcfl.algorithms.fesem")) == (0, 1)


def test_silent_clients_keep_what_they_had(parabolas: Make) -> None:
    method, cohort = fesem(), [0, 2, 3]
    before = advanced(method, started(method, parabolas(6)), parabolas(6), [0, 1])
    after = advanced(method, before, parabolas(6, silent=frozenset({0, 3})), cohort)
    assert after.group_of[[0, 1, 3]].tolist() == [*before.group_of[[0, 1]], NO_GROUP]
    assert after.local_models[0] is before.local_models[0]
    assert after.local_models[3] is None
    assert after.group_of[2] != NO_GROUP
    silence = advanced(method, before, parabolas(6, silent=frozenset(cohort)), cohort, [])
    assert lists(silence) == lists(before)


def test_more_groups_than_clients_leave_some_models_as_they_began(parabolas: Make) -> None:
    federation, method = parabolas(2), fesem(groups=5)
    before = started(method, federation)
    after = advanced(method, before, federation, [0, 1])
    moved = (after.models != before.models).any(axis=1)
    assert set(np.flatnonzero(moved)) == set(after.group_of)


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"groups": 0}, r"groups must be greater than or equal to 1, not 0\.$"),
        ({"averaging": "mean"}, r"averaging must be 'simple' or 'examples', not 'mean'\.$"),
        ({"start": "random"}, r"start must be 'common' or 'distinct', not 'random'\.$"),
    ],
)
def test_options_out_of_range_are_reported(table: dict[str, object], sentence: str) -> None:
    with pytest.raises(SettingsError, match=sentence):
        validated(FesemOptions, table, "[algorithm]")
