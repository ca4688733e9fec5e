"""What every algorithm of the registry promises, whatever it does."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from flexcfl.algorithms import ALGORITHMS
from flexcfl.protocol import Algorithm, Executor, Local, Train, drive

CLIENTS = 12
ROUNDS = 3
COHORT = np.array([1, 4, 7, 9])

Federation = Any
Make = Callable[..., Federation]


@pytest.fixture(params=sorted(ALGORITHMS))
def algorithm(request: pytest.FixtureRequest) -> Algorithm[Any]:
    entry = ALGORITHMS[request.param]
    return entry.make(entry.options(), Local(rate=0.5, prox=1.0 if entry.proximal else 0.0))


def started(algorithm: Algorithm[Any], federation: Federation, seed: int = 0) -> Any:
    conversation = algorithm.start(federation.initial, CLIENTS, np.random.default_rng(seed))
    return drive(conversation, federation)


def advanced(
    algorithm: Algorithm[Any], state: Any, executor: Executor, cohort: np.ndarray = COHORT
) -> Any:
    for number in range(ROUNDS):
        rng = np.random.default_rng(number)
        state = drive(algorithm.round(state, cohort, rng), executor)
    return state


def arrays(state: Any) -> list[np.ndarray]:
    return [np.asarray(getattr(state, item.name)) for item in dataclasses.fields(state)]


def same(one: Any, other: Any) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(arrays(one), arrays(other), strict=True))


def test_the_same_seed_gives_the_same_run_bit_for_bit(
    algorithm: Algorithm[Any], parabolas: Make
) -> None:
    runs = []
    for _ in range(2):
        federation = parabolas(CLIENTS)
        runs.append(advanced(algorithm, started(algorithm, federation), federation))
    assert same(*runs)


def test_another_seed_starts_elsewhere(algorithm: Algorithm[Any], parabolas: Make) -> None:
    federation = parabolas(CLIENTS)
    one, other = (started(algorithm, federation, seed) for seed in (0, 1))
    assert not same(one, other)


def test_training_moves_the_models(algorithm: Algorithm[Any], parabolas: Make) -> None:
    federation = parabolas(CLIENTS)
    before = started(algorithm, federation)
    after = advanced(algorithm, before, federation)
    assert not np.array_equal(algorithm.serving(before).models, algorithm.serving(after).models)


def test_the_state_is_frozen_and_a_round_leaves_the_old_one_alone(
    algorithm: Algorithm[Any], parabolas: Make
) -> None:
    federation = parabolas(CLIENTS)
    state = started(algorithm, federation)
    copies = [array.copy() for array in arrays(state)]
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(state, dataclasses.fields(state)[0].name, None)
    advanced(algorithm, state, federation)
    assert all(np.array_equal(a, b) for a, b in zip(copies, arrays(state), strict=True))


def test_every_client_is_served_one_of_finite_float32_models(
    algorithm: Algorithm[Any], parabolas: Make
) -> None:
    federation = parabolas(CLIENTS)
    state = started(algorithm, federation)
    for _ in range(2):
        serving = algorithm.serving(state)
        assert serving.models.dtype == np.float32
        assert np.isfinite(serving.models).all()
        assert serving.model_of.shape == (CLIENTS,)
        assert ((serving.model_of >= 0) & (serving.model_of < len(serving.models))).all()
        state = advanced(algorithm, state, federation)


def test_it_trains_the_cohort_it_was_given(algorithm: Algorithm[Any], parabolas: Make) -> None:
    federation = parabolas(CLIENTS)
    state = started(algorithm, federation)
    federation.exchanges.clear()
    drive(algorithm.round(state, COHORT, np.random.default_rng(0)), federation)
    orders = [order for order, _ in federation.exchanges if isinstance(order, Train)]
    assert sorted(np.concatenate([order.clients for order in orders])) == COHORT.tolist()
    for order in orders:
        assert ((order.model_of >= 0) & (order.model_of < len(order.models))).all()


@pytest.mark.parametrize("silent", [{1}, {1, 9}, set(COHORT.tolist()), set(range(CLIENTS))])
def test_it_survives_silence(algorithm: Algorithm[Any], parabolas: Make, silent: set[int]) -> None:
    state = started(algorithm, parabolas(CLIENTS))
    after = advanced(algorithm, state, parabolas(CLIENTS, silent=frozenset(silent)))
    serving = algorithm.serving(after)
    assert np.isfinite(serving.models).all()
    if silent >= set(COHORT.tolist()):
        assert np.array_equal(serving.models, algorithm.serving(state).models)


def test_silent_clients_have_no_say(algorithm: Algorithm[Any], parabolas: Make) -> None:
    state = started(algorithm, parabolas(CLIENTS))
    some = advanced(algorithm, state, parabolas(CLIENTS, silent=frozenset({4, 9})))
    those = advanced(algorithm, state, parabolas(CLIENTS), np.array([1, 7]))
    assert np.array_equal(algorithm.serving(some).models, algorithm.serving(those).models)


def test_it_survives_an_empty_cohort(algorithm: Algorithm[Any], parabolas: Make) -> None:
    federation = parabolas(CLIENTS)
    state = started(algorithm, federation)
    after = advanced(algorithm, state, federation, np.empty(0, np.int64))
    assert np.array_equal(algorithm.serving(after).models, algorithm.serving(state).models)


def test_one_client_is_a_federation(algorithm: Algorithm[Any], parabolas: Make) -> None:
    federation = parabolas(1)
    state = drive(algorithm.start(federation.initial, 1, np.random.default_rng(0)), federation)
    after = advanced(algorithm, state, federation, np.array([0]))
    assert np.isfinite(algorithm.serving(after).models).all()


def test_every_entry_says_what_it_is() -> None:
    for name, entry in ALGORITHMS.items():
        assert name == name.lower()
        assert entry.summary
        assert not entry.summary.endswith(".")
