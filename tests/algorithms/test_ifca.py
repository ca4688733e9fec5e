"""IFCA, driven by hand, on clients in closed form, and on real ones."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score
from torch import nn

from flexcfl.algorithms.fedavg import FedAvg
from flexcfl.algorithms.ifca import IFCA, IfcaOptions, IfcaState
from flexcfl.data import Federation, IndexLists
from flexcfl.engine import Engine
from flexcfl.errors import SettingsError
from flexcfl.protocol import (
    LOWEST_LOSS,
    NO_GROUP,
    Algorithm,
    Conversation,
    Evaluate,
    Local,
    Train,
    Trained,
    drive,
)
from flexcfl.settings import validated
from flexcfl.shifts import Timeline
from flexcfl.simulation import Simulation
from tests.algorithms.driving import rng

Make = Callable[..., Any]

ALL = np.ones(5, dtype=np.bool_)
NOBODY = np.empty(0, np.int64)


def ifca(**options: Any) -> IFCA:
    return IFCA(Local(rate=0.5), IfcaOptions(**options))


def state_of(models: Any, model_of: Any) -> IfcaState:
    nobody = np.zeros(len(model_of), dtype=np.bool_)
    return IfcaState(np.array(models, np.float32), np.array(model_of, np.int64), nobody)


def result(talk: Conversation[IfcaState], reply: Any = None) -> IfcaState:
    """Return how a conversation ends, which it must do with this reply."""
    with pytest.raises(StopIteration) as stop:
        talk.send(reply)
    state: IfcaState = stop.value.value
    return state


def answered(state: IfcaState, reply: Trained, **options: Any) -> IfcaState:
    """Return the state after a round in which a cohort of all clients gave this reply."""
    talk = ifca(**options).round(state, np.arange(len(state.model_of)), ALL, rng())
    next(talk)
    return result(talk, reply)


def test_a_conversation_by_hand() -> None:
    method = ifca(groups=3)
    state = state_of([[0, 0], [10, 10], [20, 20]], [NO_GROUP, 0, 2, NO_GROUP, 1])

    talk = method.round(state, np.array([0, 2, 3, 4]), ALL, rng())
    order = next(talk)
    assert isinstance(order, Train)
    assert order.clients.tolist() == [0, 2, 3, 4]
    assert order.models is state.models
    assert order.model_of == LOWEST_LOSS
    assert order.local == method.local
    assert order.purpose == "training"
    assert order.down_bytes == 4 * 3 * 2 * 4  # four clients, three models of two float32 numbers

    # Client 3 stays silent; 2 moves from group 2 to group 1, and no client chooses group 2.
    updates = np.array([[1, 2], [2, 4], [4, 0]], np.float32)
    reply = Trained(
        np.array([0, 2, 4]), updates, np.array([9, 3, 1]), np.zeros(3), np.array([0, 1, 1])
    )
    after = result(talk, reply)
    assert after.models.tolist() == [[1, 2], [13, 12], [20, 20]]
    assert after.models.dtype == np.float32
    assert after.model_of.tolist() == [0, 0, 1, NO_GROUP, 1]
    assert method.serving(after).models is after.models
    assert method.serving(after).model_of is after.model_of
    assert state.models.tolist() == [[0, 0], [10, 10], [20, 20]]
    assert state.model_of.tolist() == [NO_GROUP, 0, 2, NO_GROUP, 1]


def test_it_starts_with_different_random_models_and_nobody_in_a_group() -> None:
    def initial(rng: np.random.Generator) -> np.ndarray:
        return rng.normal(size=4).astype(np.float32)

    state = result(ifca(groups=3).start(initial, ALL, rng(7)))
    again = rng(7)
    assert np.array_equal(state.models, [initial(again) for _ in range(3)])
    assert len(np.unique(state.models, axis=0)) == 3
    assert state.model_of.tolist() == [NO_GROUP] * 5


def test_nobody_answers_and_all_stays_as_it_was() -> None:
    state = state_of([[1, 2], [3, 4]], [0, 1, NO_GROUP, 1, 0])
    silence = Trained(NOBODY, np.empty((0, 2), np.float32), NOBODY, np.empty(0), NOBODY)
    after = answered(state, silence)
    assert np.array_equal(after.models, state.models)
    assert np.array_equal(after.model_of, state.model_of)


# Published code gives one weight for all of them, so that only the first client's update counts.
@given(st.lists(st.integers(-100, 100), min_size=1, max_size=5))
def test_simple_averaging_uses_the_updates_of_all_clients_of_a_group(numbers: list[int]) -> None:
    clients = np.arange(len(numbers))
    updates = np.array(numbers, np.float32)[:, np.newaxis]
    reply = Trained(clients, updates, 10**clients, np.zeros(len(clients)), clients * 0)
    after = answered(state_of([[7]], [NO_GROUP] * 5), reply, groups=1)
    assert after.models[0, 0] == pytest.approx(7 + sum(numbers) / len(numbers), abs=1e-4)


def test_averaging_by_examples_is_an_option() -> None:
    updates = np.array([[1], [5]], np.float32)
    pair = np.array([0, 1])
    reply = Trained(pair, updates, np.array([3, 1]), np.zeros(2), pair * 0)
    state = state_of([[0]], [NO_GROUP] * 5)
    assert answered(state, reply, averaging="simple").models.tolist() == [[3]]
    assert answered(state, reply, averaging="examples").models.tolist() == [[2]]


def test_one_group_weighted_by_examples_is_fedavg(parabolas: Make) -> None:
    federation, runs = parabolas(6), []
    methods: tuple[Algorithm[Any], ...] = (
        ifca(groups=1, averaging="examples"),
        FedAvg(Local(rate=0.5)),
    )
    for method in methods:
        start = method.start(federation.initial, federation.present, rng(3))
        state = drive(start, federation)
        for cohort in ([0, 3, 5], [1, 2], [5]):
            talk = method.round(state, np.array(cohort), federation.present, rng())
            state = drive(talk, federation)
        runs.append(state.models)
    assert np.array_equal(runs[0], runs[1])


def test_it_recovers_three_kinds_of_clients_from_separate_beginnings(parabolas: Make) -> None:
    federation, method, rounds = parabolas(12), ifca(groups=3), 8
    begin = 3 * np.eye(3, dtype=np.float32)
    queue = iter(begin)
    start = method.start(lambda rng: next(queue), federation.present, rng())
    state = drive(start, federation)
    for _ in range(rounds):
        talk = method.round(state, np.arange(12), federation.present, rng())
        state = drive(talk, federation)
    assert adjusted_rand_score(federation.kinds, state.model_of) == 1
    # Each model goes half the way to its clients' mean target in every round.
    means = np.stack(
        [federation.targets[federation.kinds == kind].mean(axis=0) for kind in (0, 1, 2)]
    )
    expected = means + 0.5**rounds * (begin - means)
    np.testing.assert_allclose(state.models, expected, rtol=1e-5, atol=1e-5)


def test_clients_that_stay_silent_are_not_placed(parabolas: Make) -> None:
    federation, method = parabolas(6, silent=frozenset({2, 3})), ifca()
    state = drive(method.start(federation.initial, federation.present, rng()), federation)
    state = drive(
        method.round(state, np.array([1, 2, 3, 5]), federation.present, rng()), federation
    )
    placed = method.serving(state).model_of != NO_GROUP
    assert placed.tolist() == [False, True, False, False, False, True]


def test_more_groups_than_clients_leave_some_models_as_they_began(parabolas: Make) -> None:
    federation, method = parabolas(2), ifca(groups=5)
    before = drive(method.start(federation.initial, federation.present, rng()), federation)
    after = drive(method.round(before, np.arange(2), federation.present, rng()), federation)
    moved = (after.models != before.models).any(axis=1)
    assert set(np.flatnonzero(moved)) == set(after.model_of)


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"groups": 0}, r"groups must be greater than or equal to 1, not 0\.$"),
        ({"averaging": "mean"}, r"averaging must be 'simple' or 'examples', not 'mean'\.$"),
    ],
)
def test_options_out_of_range_are_reported(table: dict[str, object], sentence: str) -> None:
    with pytest.raises(SettingsError, match=sentence):
        validated(IfcaOptions, table, "[algorithm]")


def simulated(labels: list[int], train: list[list[int]], test: list[list[int]]) -> Simulation:
    """Return clients with two unit vectors in turn as examples, and linear models of two rows."""
    x = np.tile(np.eye(2, dtype=np.float32), (len(labels) // 2, 1))
    lists = IndexLists.of(train), IndexLists.of(test)
    federation = Federation("tiny", x, np.array(labels), *lists, classes=2)
    engine = Engine(lambda: nn.Sequential(nn.Linear(2, 2)), federation.x, federation.y, 2)
    return Simulation(engine, Timeline(federation), seed=0)


def chosen(simulation: Simulation, models: np.ndarray, local: Local) -> list[int]:
    clients = simulation.timeline.federation.clients
    nobody = np.zeros(clients, dtype=np.bool_)
    state = IfcaState(models, np.full(clients, NO_GROUP, dtype=np.int64), nobody)
    method = replace(ifca(groups=len(models)), local=local)
    talk = method.round(state, np.arange(clients), np.ones(clients, dtype=np.bool_), rng())
    model_of: list[int] = drive(talk, simulation.at(1)).model_of.tolist()
    return model_of


# Published code compares losses with the penalty, which favours models of small norm.
def test_groups_are_compared_by_data_loss_without_the_l2_penalty() -> None:
    everything = list(range(8))
    simulation = simulated([0, 1] * 4, [everything, everything[:4]], [[], []])
    small, large = np.zeros(6, np.float32), np.array([4, -4, -4, 4, 0, 0], np.float32)
    models, local = np.stack([small, large]), Local(epochs=1, l2=0.1, rate=0.01)
    order = Evaluate(np.array([0, 0]), models, np.array([0, 1]), "train")
    data_loss = simulation.at(1)(order).loss / 8
    penalty = local.l2 * np.array([0.0, 4 * 4**2])
    assert np.argmin(data_loss) == 1
    assert np.argmin(data_loss + penalty) == 0
    assert chosen(simulation, models, local) == [1, 1]


# IFCA's own code takes the labelled test data of a test client.
def test_a_clients_group_comes_from_its_training_data() -> None:
    # Each client trains on one class and is tested on the other.
    simulation = simulated([0, 0, 1, 1], [[0, 1], [2, 3]], [[2, 3], [0, 1]])
    models = np.array([[0, 0, 0, 0, 2, -2], [0, 0, 0, 0, -2, 2]], np.float32)
    pairs = np.array([0, 0, 1, 1]), models, np.array([0, 1, 0, 1])
    by_test = simulation.at(1)(Evaluate(*pairs, "test")).loss.reshape(2, 2)
    assert by_test.argmin(axis=1).tolist() == [1, 0]
    assert chosen(simulation, models, Local(epochs=1)) == [0, 1]
