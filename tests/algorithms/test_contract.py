"""What every algorithm of the registry promises, whatever it does."""

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flexcfl.algorithms import ALGORITHMS, Entry
from flexcfl.checkpoints import Checkpoint, Found, Store, UnfitError, flattened, rebuilt
from flexcfl.errors import FlexcflError
from flexcfl.protocol import NO_GROUP, Algorithm, Executor, Local, Train, drive, state_type
from tests.checkpoints.interrupted import check_values

CLIENTS = 12
ROUNDS = 4
COHORT = np.array([1, 4, 7, 9])
PHASES = [None, "training", "cold-start", "placement", "place", "keep", "settle"]

Federation = Any
Make = Callable[..., Federation]


def made(name: str, **options: Any) -> Algorithm[Any]:
    """Make an algorithm for so few clients, whatever of its options it has."""
    entry = ALGORITHMS[name]
    small = {"groups": 3, "alpha": 2, "rounds_before": 2, **options}
    # Clusters that divide whenever three clients of one have answered.
    small |= {"eps1": 1e9, "eps2": 0.0, "least": 3}
    known = {item.name for item in dataclasses.fields(entry.options)}
    chosen = {key: value for key, value in small.items() if key in known}
    local = Local(rate=0.5, prox=1.0 if entry.proximal else 0.0)
    return entry.make(entry.options(**chosen), local)


@pytest.fixture(params=sorted(ALGORITHMS))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def algorithm(name: str) -> Algorithm[Any]:
    return made(name)


def started(algorithm: Algorithm[Any], federation: Federation, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    return drive(algorithm.start(federation.initial, federation.present, rng), federation)


def advanced(
    algorithm: Algorithm[Any],
    state: Any,
    executor: Executor,
    cohort: np.ndarray = COHORT,
    rounds: int = ROUNDS,
) -> Any:
    present = np.ones(CLIENTS, dtype=np.bool_)
    for number in range(rounds):
        rng = np.random.default_rng(number)
        state = drive(algorithm.round(state, cohort, present, rng), executor)
    return state


def arrays(state: Any) -> Iterator[np.ndarray]:
    """Yield every array and number of a state, however it is nested."""
    if dataclasses.is_dataclass(state):
        for item in dataclasses.fields(state):
            yield from arrays(getattr(state, item.name))
    elif isinstance(state, dict) or hasattr(state, "items"):
        for key in sorted(state):
            yield np.asarray(key)
            yield from arrays(state[key])
    elif isinstance(state, tuple | list):
        for part in state:
            yield from arrays(part)
    elif state is not None:
        yield np.asarray(state)


def same(one: Any, other: Any) -> bool:
    mine, theirs = list(arrays(one)), list(arrays(other))
    return len(mine) == len(theirs) and all(map(np.array_equal, mine, theirs))


def trains(federation: Federation) -> list[Train]:
    return [
        order
        for order, _ in federation.exchanges
        if isinstance(order, Train) and order.purpose == "training"
    ]


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


def check_serving(algorithm: Algorithm[Any], state: Any, clients: int = CLIENTS) -> None:
    serving = algorithm.serving(state)
    assert serving.models.dtype == np.float32
    assert np.isfinite(serving.models).all()
    assert serving.model_of.shape == (clients,)
    assert ((serving.model_of >= NO_GROUP) & (serving.model_of < len(serving.models))).all()
    if serving.auxiliary is not None:
        assert serving.auxiliary.dtype == np.float32
        np.testing.assert_allclose(serving.auxiliary, serving.models.mean(axis=0), rtol=1e-5)


def test_clients_are_served_finite_float32_models(
    algorithm: Algorithm[Any], parabolas: Make
) -> None:
    federation = parabolas(CLIENTS)
    state = started(algorithm, federation)
    for _ in range(2):
        check_serving(algorithm, state)
        state = advanced(algorithm, state, federation)


def test_who_took_part_is_placed(algorithm: Algorithm[Any], parabolas: Make) -> None:
    federation = parabolas(CLIENTS)
    state = advanced(algorithm, started(algorithm, federation), federation, rounds=1)
    assert (algorithm.serving(state).model_of[COHORT] != NO_GROUP).all()


def test_everybody_seen_everybody_placed(algorithm: Algorithm[Any], parabolas: Make) -> None:
    federation = parabolas(CLIENTS)
    state = started(algorithm, federation)
    for first in range(0, CLIENTS, 4):
        cohort = np.arange(first, first + 4)
        state = advanced(algorithm, state, federation, cohort, rounds=1)
    assert (algorithm.serving(state).model_of != NO_GROUP).all()


def test_it_trains_the_cohort_it_was_given(algorithm: Algorithm[Any], parabolas: Make) -> None:
    federation = parabolas(CLIENTS)
    state = started(algorithm, federation)
    federation.exchanges.clear()
    advanced(algorithm, state, federation, rounds=1)
    orders = trains(federation)
    assert sorted(np.concatenate([order.clients for order in orders])) == COHORT.tolist()


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("silent", [{1}, {1, 9}, set(COHORT.tolist()), set(range(CLIENTS))])
def test_it_survives_silence_in_any_phase(
    algorithm: Algorithm[Any], parabolas: Make, silent: set[int], phase: str | None
) -> None:
    state = started(algorithm, parabolas(CLIENTS))
    quiet = parabolas(CLIENTS, silent=frozenset(silent), phase=phase)
    after = advanced(algorithm, state, quiet)
    check_serving(algorithm, after)
    if silent >= set(range(CLIENTS)) and phase in (None, "training"):
        before = algorithm.serving(state).models
        assert np.array_equal(algorithm.serving(after).models, before)
    heard = advanced(algorithm, after, parabolas(CLIENTS))
    assert (algorithm.serving(heard).model_of[COHORT] != NO_GROUP).all()


def test_silent_clients_have_no_say(algorithm: Algorithm[Any], parabolas: Make) -> None:
    state = started(algorithm, parabolas(CLIENTS))
    quiet = parabolas(CLIENTS, silent=frozenset({4, 9}))
    some = advanced(algorithm, state, quiet, rounds=2)
    those = advanced(algorithm, state, parabolas(CLIENTS), np.array([1, 7]), rounds=2)
    assert np.array_equal(algorithm.serving(some).models, algorithm.serving(those).models)


def test_it_survives_an_empty_cohort(algorithm: Algorithm[Any], parabolas: Make) -> None:
    federation = parabolas(CLIENTS)
    state = started(algorithm, federation)
    after = advanced(algorithm, state, federation, np.empty(0, np.int64), rounds=2)
    assert np.array_equal(algorithm.serving(after).models, algorithm.serving(state).models)


def test_silent_clients_at_the_start_are_passed_over_or_told(
    algorithm: Algorithm[Any], parabolas: Make
) -> None:
    check_serving(algorithm, started(algorithm, parabolas(CLIENTS, frozenset(range(6)))))
    try:
        check_serving(algorithm, started(algorithm, parabolas(CLIENTS, frozenset(range(CLIENTS)))))
    except FlexcflError as error:
        assert str(error).endswith(".")  # noqa: PT017  (some need nobody at the start)


def test_one_client_is_a_federation(name: str, parabolas: Make) -> None:
    if name == "flexcfl-rac":
        pytest.skip("with one client nobody is left to be placed at random")
    algorithm, federation = made(name, groups=1), parabolas(1)
    state, alone = started(algorithm, federation), np.array([0])
    for number in range(ROUNDS):
        rng = np.random.default_rng(number)
        talk = algorithm.round(state, alone, federation.present, rng)
        state = drive(talk, federation)
        check_serving(algorithm, state, clients=1)
    assert algorithm.serving(state).model_of.tolist() == [0]


def test_nobody_is_asked_who_has_not_arrived(algorithm: Algorithm[Any], parabolas: Make) -> None:
    federation = parabolas(CLIENTS)
    present = np.arange(CLIENTS) < 10
    rng = np.random.default_rng(0)
    state = drive(algorithm.start(federation.initial, present, rng), federation)
    for number in range(ROUNDS):
        rng = np.random.default_rng(number)
        state = drive(algorithm.round(state, COHORT, present, rng), federation)
    asked = np.concatenate([COHORT[:0], *(order.clients for order, _ in federation.exchanges)])
    assert not np.isin(asked, [10, 11]).any()
    late = drive(algorithm.round(state, np.array([2, 10, 11]), federation.present, rng), federation)
    assert (algorithm.serving(late).model_of[[10, 11]] != NO_GROUP).all()


@pytest.mark.slow
@given(st.data())
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_cohorts_and_any_silence_leave_valid_groups(
    algorithm: Algorithm[Any], parabolas: Make, data: st.DataObject
) -> None:
    state = started(algorithm, parabolas(CLIENTS), data.draw(st.integers(0, 99)))
    clients = st.sets(st.integers(0, CLIENTS - 1))
    for number in range(6):
        cohort, silent = np.array(sorted(data.draw(clients)), np.int64), data.draw(clients)
        federation = parabolas(CLIENTS, frozenset(silent), data.draw(st.sampled_from(PHASES)))
        rng = np.random.default_rng(number)
        talk = algorithm.round(state, cohort, federation.present, rng)
        state = drive(talk, federation)
        check_serving(algorithm, state)


def written_and_read(algorithm: Algorithm[Any], state: Any, folder: Path) -> Any:
    """Return the state as it is found in a file, built by what the algorithm says of its type."""
    found: list[np.ndarray] = []
    content = flattened(state, found)
    Store(folder).save(Checkpoint(1, content, found))
    again = next(Store(folder).found())
    assert isinstance(again, Found)
    checkpoint = again.checkpoint
    return rebuilt(state_type(algorithm), checkpoint.content, checkpoint.arrays)


def test_the_state_can_be_written_down_between_any_two_rounds(
    algorithm: Algorithm[Any], parabolas: Make, tmp_path: Path
) -> None:
    federation = parabolas(CLIENTS)
    state = started(algorithm, federation)
    for number in range(ROUNDS + 1):
        again = written_and_read(algorithm, state, tmp_path / str(number))
        check_values(again, state)
        state = advanced(algorithm, state, federation, rounds=1)
        # And the rest goes on from either as from the other.
        check_values(advanced(algorithm, again, parabolas(CLIENTS), rounds=1), state)


def test_the_state_of_another_algorithm_does_not_fit(
    algorithm: Algorithm[Any], parabolas: Make
) -> None:
    found: list[np.ndarray] = []
    content = flattened(started(algorithm, parabolas(CLIENTS)), found)
    for other in sorted(ALGORITHMS):
        kind = state_type(made(other))
        if kind is state_type(algorithm):
            continue
        with pytest.raises(UnfitError):
            rebuilt(kind, content, found)


def types_in(kind: Any) -> Iterator[Any]:
    """Yield every type that a state's annotations name."""
    if dataclasses.is_dataclass(kind):
        for hint in get_type_hints(kind).values():
            yield from types_in(hint)
    elif get_origin(kind) is np.ndarray:
        yield np.ndarray
    elif get_args(kind):
        for inner in get_args(kind):
            yield from types_in(inner)
    else:
        yield kind


def test_a_state_is_made_of_what_can_be_written_down(algorithm: Algorithm[Any]) -> None:
    plain = {np.ndarray, int, float, bool, str, type(None), ...}
    assert set(types_in(state_type(algorithm))) <= plain


def test_options_have_defaults_and_are_documented(name: str) -> None:
    options = ALGORITHMS[name].options
    assert options() == options()
    for item in dataclasses.fields(options):
        told = " ".join(str(parent.__doc__) for parent in options.__mro__)
        assert f"``{item.name}``" in told, f"{options.__name__} does not explain {item.name}"


def test_groups_must_be_at_least_one(name: str) -> None:
    if "groups" not in {item.name for item in dataclasses.fields(ALGORITHMS[name].options)}:
        pytest.skip("it has no groups to choose")
    with pytest.raises(ValueError, match="groups"):
        made(name, groups=0)


def test_more_groups_than_clients_are_told(name: str, parabolas: Make) -> None:
    options = {item.name for item in dataclasses.fields(ALGORITHMS[name].options)}
    if "groups" not in options or name.split("-")[0] in ("ifca", "fesem"):
        pytest.skip("its groups are there whoever joins them")
    algorithm = made(name, groups=CLIENTS + 1, alpha=1)
    with pytest.raises(FlexcflError, match="groups"):
        started(algorithm, parabolas(CLIENTS))


def entry_says_what_it_is(name: str, entry: Entry) -> None:
    assert name == name.lower()
    assert entry.summary
    assert not entry.summary.endswith(".")


def test_every_entry_says_what_it_is(name: str) -> None:
    entry = ALGORITHMS[name]
    entry_says_what_it_is(name, entry)
    assert entry.memory(entry.options(), 1000, 7850) >= 0
