"""What every algorithm of the registry promises: the public promises, and some internal ones."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexcfl.algorithms import ALGORITHMS, AlgorithmEntry
from flexcfl.errors import FlexcflError, SettingsError
from flexcfl.protocol import Algorithm, Executor, Order, Welcoming, drive, state_type
from flexcfl.record.checkpoints import (
    Checkpoint,
    FoundCheckpoint,
    Store,
    UnfitError,
    flattened,
    rebuilt,
)
from flexcfl.testing import Check, checks
from flexcfl.testing.algorithms import (
    CLIENTS,
    PHASES,
    ROUNDS,
    AlgorithmSubject,
    advanced,
    check_serving,
    started,
)
from flexcfl.testing.parabolas import Parabolas
from tests.record.checkpoints.interrupted import check_values

PROMISES = [(name, check) for name in sorted(ALGORITHMS) for check in checks("algorithm", name)]


def made(name: str, **options: Any) -> Algorithm[Any]:
    return AlgorithmSubject(ALGORITHMS[name]).made(**options)


@pytest.fixture(params=sorted(ALGORITHMS))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def algorithm(name: str) -> Algorithm[Any]:
    return made(name)


@pytest.mark.parametrize(("name", "check"), PROMISES, ids=str)
def test_it_keeps_what_every_algorithm_promises(name: str, check: Check) -> None:
    if (name, check.name) == ("flexcfl-rac", "one client is a federation"):
        with pytest.raises(SettingsError, match="nobody is left to be placed at random"):
            check()
    else:
        check()


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(ALGORITHMS))
@given(data=st.data())
@settings(max_examples=15)
def test_any_cohorts_and_any_silence_leave_valid_groups(name: str, data: st.DataObject) -> None:
    algorithm = made(name)
    state = started(algorithm, Parabolas(CLIENTS), data.draw(st.integers(0, 99)))
    clients = st.sets(st.integers(0, CLIENTS - 1))
    for number in range(6):
        cohort, silent = np.array(sorted(data.draw(clients)), np.int64), data.draw(clients)
        federation = Parabolas(CLIENTS, frozenset(silent), data.draw(st.sampled_from(PHASES)))
        rng = np.random.default_rng(number)
        talk = algorithm.round(state, cohort, federation.present, rng)
        state = drive(talk, federation)
        check_serving(algorithm, state)


def written_and_read(algorithm: Algorithm[Any], state: Any, folder: Path) -> Any:
    """Return the state as read from a file, built with the type that the algorithm declares."""
    found: list[np.ndarray] = []
    content = flattened(state, found)
    Store(folder).save(Checkpoint(1, content, found))
    again = next(Store(folder).found())
    assert isinstance(again, FoundCheckpoint)
    checkpoint = again.checkpoint
    return rebuilt(state_type(algorithm), checkpoint.content, checkpoint.arrays)


def test_the_state_can_be_saved_between_any_two_rounds(
    algorithm: Algorithm[Any], tmp_path: Path
) -> None:
    federation = Parabolas(CLIENTS)
    state = started(algorithm, federation)
    for number in range(ROUNDS + 1):
        again = written_and_read(algorithm, state, tmp_path / str(number))
        check_values(again, state)
        state = advanced(algorithm, state, federation, rounds=1)
        # And the rest goes on from either as from the other.
        check_values(advanced(algorithm, again, Parabolas(CLIENTS), rounds=1), state)


def test_the_state_of_another_algorithm_does_not_fit(algorithm: Algorithm[Any]) -> None:
    found: list[np.ndarray] = []
    content = flattened(started(algorithm, Parabolas(CLIENTS)), found)
    for other in sorted(ALGORITHMS):
        kind = state_type(made(other))
        if kind is state_type(algorithm):
            continue
        with pytest.raises(UnfitError):
            rebuilt(kind, content, found)


def test_groups_must_be_at_least_one(name: str) -> None:
    if "groups" not in {item.name for item in dataclasses.fields(ALGORITHMS[name].options)}:
        pytest.skip("it has no groups to choose")
    with pytest.raises(ValueError, match="groups"):
        made(name, groups=0)


def test_more_groups_than_clients_are_reported(name: str) -> None:
    options = {item.name for item in dataclasses.fields(ALGORITHMS[name].options)}
    if "groups" not in options or name.split("-")[0] in ("ifca", "fesem"):
        pytest.skip("its groups are there whichever clients join them")
    algorithm = made(name, groups=CLIENTS + 1, alpha=1)
    with pytest.raises(FlexcflError, match="groups"):
        started(algorithm, Parabolas(CLIENTS))


def alone(federation: Parabolas, client: int) -> Executor:
    """Return an executor with only one client of a federation, as number 0."""

    def fulfilled(order: Order[Any]) -> Any:
        there: Any = order
        assert set(there.clients.tolist()) <= {0}
        reply = federation(dataclasses.replace(there, clients=there.clients + client))
        return dataclasses.replace(reply, clients=reply.clients - client)

    return fulfilled


def welcoming(algorithm: Algorithm[Any]) -> Welcoming[Any]:
    assert isinstance(algorithm, Welcoming)
    return algorithm


@pytest.mark.parametrize("rounds", range(ROUNDS + 1))
@pytest.mark.parametrize("late", [9, 10, 11])
def test_one_newcomer_alone_finds_the_group_that_it_finds_among_all(
    name: str, algorithm: Algorithm[Any], rounds: int, late: int
) -> None:
    federation, present = Parabolas(CLIENTS), np.arange(CLIENTS) < 9
    rng = np.random.default_rng(0)
    state = drive(algorithm.start(federation.initial, present, rng), federation)
    for number in range(rounds):
        rng = np.random.default_rng(number)
        # Some of the nine are away, so that some groups are divided without them.
        cohort = np.arange(9) if number < 2 else np.array([0, 1, 2, 3, 6, 7])
        state = drive(algorithm.round(state, cohort, present, rng), federation)
    served = algorithm.serving(state)
    new = welcoming(algorithm).newcomer(state)
    present[late] = True
    talk = algorithm.round(state, np.array([late]), present, np.random.default_rng(9))
    among = algorithm.serving(drive(talk, federation)).model_of[late]
    talk = algorithm.round(new, np.array([0]), np.array([True]), np.random.default_rng(9))
    after = algorithm.serving(drive(talk, alone(federation, late)))
    if name == "flhc" and rounds == 2:
        pytest.skip("in this round everybody is clustered, which one alone cannot be")
    if "by chance" in ALGORITHMS[name].placing:
        assert 0 <= after.model_of[0] < len(served.models)
    else:
        assert after.model_of.tolist() == [among]
    assert among not in served.waiting


def test_a_newcomers_state_is_of_one_client_and_the_same_models(
    algorithm: Algorithm[Any], tmp_path: Path
) -> None:
    federation = Parabolas(CLIENTS)
    state = started(algorithm, federation)
    for number in range(ROUNDS + 1):
        new = welcoming(algorithm).newcomer(state)
        check_serving(algorithm, new, clients=1)
        ours, theirs = algorithm.serving(new), algorithm.serving(state)
        assert ours.models is theirs.models
        assert ours.waiting == theirs.waiting
        assert ours.clustering is None
        check_values(written_and_read(algorithm, new, tmp_path / str(number)), new)
        state = advanced(algorithm, state, federation, rounds=1)


def test_every_entry_says_how_newcomers_are_placed(name: str) -> None:
    assert ALGORITHMS[name].placing != AlgorithmEntry("", make=ALGORITHMS[name].make).placing
