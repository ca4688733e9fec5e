"""The promises of every algorithm, tested with clients in closed form."""

import dataclasses
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexcfl.algorithms import AlgorithmEntry
from flexcfl.errors import FlexcflError
from flexcfl.protocol import (
    NO_GROUP,
    Algorithm,
    Executor,
    Ids,
    Local,
    Welcoming,
    drive,
    state_type,
)
from flexcfl.record.checkpoints import flattened, rebuilt, unreadable_part
from flexcfl.testing.check import demand, demand_options, demand_summary
from flexcfl.testing.parabolas import Parabolas

CLIENTS, ROUNDS = 12, 4
COHORT: Ids = np.array([1, 4, 7, 9])
PHASES = (None, "training", "cold-start", "placement", "place", "keep", "settle", "choose")
SILENT: tuple[frozenset[int], ...] = (
    frozenset({1}),
    frozenset({1, 9}),
    frozenset(COHORT.tolist()),
    frozenset(range(CLIENTS)),
)
# Values of known options that suit few clients, and make things happen within few rounds.
FEW: Mapping[str, Any] = {
    "groups": 3,
    "alpha": 2,
    "rounds_before": 2,
    "eps1": 1e9,
    "eps2": 0.0,
    "least": 3,
}


@dataclasses.dataclass(frozen=True)
class AlgorithmSubject:
    """An algorithm under test, with options that suit twelve clients and four rounds."""

    entry: AlgorithmEntry
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def made(self, **options: Any) -> Algorithm[Any]:
        """Make the algorithm, with those of the given options that it has."""
        known = {each.name for each in dataclasses.fields(self.entry.options)}
        chosen = {key: value for key, value in {**FEW, **options}.items() if key in known}
        local = Local(rate=0.5, prox=1.0 if self.entry.proximal else 0.0)
        return self.entry.make(self.entry.options(**{**chosen, **self.options}), local)


def started(algorithm: Algorithm[Any], federation: Parabolas, seed: int = 0) -> Any:
    """Return the state at the start."""
    rng = np.random.default_rng(seed)
    return drive(algorithm.start(federation.initial, federation.present, rng), federation)


def advanced(
    algorithm: Algorithm[Any],
    state: Any,
    executor: Executor,
    cohort: Ids = COHORT,
    rounds: int = ROUNDS,
) -> Any:
    """Return the state after some rounds with a cohort of twelve clients."""
    present = np.ones(CLIENTS, dtype=np.bool_)
    for number in range(rounds):
        rng = np.random.default_rng(number)
        state = drive(algorithm.round(state, cohort, present, rng), executor)
    return state


def same(one: Any, other: Any) -> bool:
    """Return whether two states hold the same numbers."""
    mine, theirs = list(_arrays(one)), list(_arrays(other))
    return len(mine) == len(theirs) and all(map(np.array_equal, mine, theirs))


def check_serving(algorithm: Algorithm[Any], state: Any, clients: int = CLIENTS) -> None:
    """Demand that the models in service can be used."""
    serving = algorithm.serving(state)
    demand(serving.models.dtype == np.float32, "Models must be float32.")
    demand(np.isfinite(serving.models).all(), "Models hold NaN or infinity.")
    shape = serving.model_of.shape
    demand(shape == (clients,), f"model_of is of shape {shape}, for {clients} clients.")
    inside = (serving.model_of >= NO_GROUP) & (serving.model_of < len(serving.models))
    demand(inside.all(), f"model_of names models that do not exist: {serving.model_of}.")
    if serving.auxiliary is not None:
        demand(serving.auxiliary.dtype == np.float32, "The auxiliary model must be float32.")
        mean = serving.models.mean(axis=0)
        close = np.allclose(serving.auxiliary, mean, rtol=1e-5)
        demand(close, "The auxiliary model must be the mean of the models.")


def _the_same_seed_gives_the_same_run_bit_for_bit(subject: AlgorithmSubject) -> None:
    algorithm = subject.made()
    federations = Parabolas(CLIENTS), Parabolas(CLIENTS)
    runs = [advanced(algorithm, started(algorithm, each), each) for each in federations]
    demand(same(*runs), "Two runs with the same seed differ: draw from the rng that is given.")


def _another_seed_starts_elsewhere(subject: AlgorithmSubject) -> None:
    algorithm, federation = subject.made(), Parabolas(CLIENTS)
    one, other = (started(algorithm, federation, seed) for seed in (0, 1))
    demand(not same(one, other), "Two seeds start alike: make models with initial(rng).")


def _training_moves_the_models(subject: AlgorithmSubject) -> None:
    algorithm, federation, before = _begun(subject)
    after = advanced(algorithm, before, federation)
    still = np.array_equal(algorithm.serving(before).models, algorithm.serving(after).models)
    demand(not still, "After four rounds the models are those of the start.")


def _the_state_is_frozen_and_a_round_leaves_the_old_one_alone(subject: AlgorithmSubject) -> None:
    algorithm, federation, state = _begun(subject)
    copies = [array.copy() for array in _arrays(state)]
    frozen = getattr(type(state), "__dataclass_params__", None)
    demand(frozen and frozen.frozen, "The state must be a frozen dataclass.")
    advanced(algorithm, state, federation)
    alone = all(map(np.array_equal, copies, _arrays(state)))
    demand(alone, "A round has changed arrays of the state that it was given: copy them first.")


def _clients_are_served_finite_float32_models(subject: AlgorithmSubject) -> None:
    algorithm, federation, state = _begun(subject)
    for _ in range(2):
        check_serving(algorithm, state)
        state = advanced(algorithm, state, federation)


def _participants_are_placed(subject: AlgorithmSubject) -> None:
    algorithm, federation, state = _begun(subject)
    _demand_placed(algorithm, advanced(algorithm, state, federation, rounds=1), COHORT)


def _all_clients_are_placed_once_all_took_part(subject: AlgorithmSubject) -> None:
    algorithm, federation, state = _begun(subject)
    for first in range(0, CLIENTS, 4):
        cohort = np.arange(first, first + 4)
        state = advanced(algorithm, state, federation, cohort, rounds=1)
    _demand_placed(algorithm, state, np.arange(CLIENTS))


def _it_trains_the_cohort_it_was_given(subject: AlgorithmSubject) -> None:
    """All clients of the cohort train, in one or several orders, and no others."""
    algorithm, federation, state = _begun(subject)
    federation.exchanges.clear()
    advanced(algorithm, state, federation, rounds=1)
    asked = [order.clients for order, _ in federation.exchanges if order.purpose == "training"]
    trained = np.unique(np.concatenate([COHORT[:0], *asked])).tolist()
    demand(trained == COHORT.tolist(), f"The cohort is {COHORT.tolist()}, but {trained} trained.")


def _it_survives_silence_in_any_phase(subject: AlgorithmSubject) -> None:
    for silent, phase in product(SILENT, PHASES):
        algorithm = subject.made()
        state = started(algorithm, Parabolas(CLIENTS))
        after = advanced(algorithm, state, Parabolas(CLIENTS, silent=silent, phase=phase))
        check_serving(algorithm, after)
        if len(silent) == CLIENTS and phase in (None, "training"):
            before = algorithm.serving(state).models
            still = np.array_equal(algorithm.serving(after).models, before)
            demand(still, "Models have moved although no client trained.")
        _demand_placed(algorithm, advanced(algorithm, after, Parabolas(CLIENTS)), COHORT)


def _silent_clients_have_no_influence(subject: AlgorithmSubject) -> None:
    algorithm = subject.made()
    state = started(algorithm, Parabolas(CLIENTS))
    quiet = Parabolas(CLIENTS, silent=frozenset({4, 9}))
    some = advanced(algorithm, state, quiet, rounds=2)
    those = advanced(algorithm, state, Parabolas(CLIENTS), np.array([1, 7]), rounds=2)
    alike = np.array_equal(algorithm.serving(some).models, algorithm.serving(those).models)
    demand(alike, "Clients that did not answer have changed the models: use reply.clients.")


def _it_survives_an_empty_cohort(subject: AlgorithmSubject) -> None:
    algorithm, federation, state = _begun(subject)
    after = advanced(algorithm, state, federation, np.empty(0, np.int64), rounds=2)
    still = np.array_equal(algorithm.serving(after).models, algorithm.serving(state).models)
    demand(still, "Models have moved although no client took part.")


def _silent_clients_at_the_start_are_skipped_or_reported(subject: AlgorithmSubject) -> None:
    """Half of the clients are enough to start; without any, there may be an error."""
    algorithm = subject.made()
    check_serving(algorithm, started(algorithm, Parabolas(CLIENTS, frozenset(range(6)))))
    try:
        check_serving(algorithm, started(algorithm, Parabolas(CLIENTS, frozenset(range(CLIENTS)))))
    except FlexcflError as error:  # some algorithms need no client at the start
        demand(str(error).endswith("."), f"The error must be a sentence: {error}")


def _one_client_is_a_federation(subject: AlgorithmSubject) -> None:
    algorithm, federation = subject.made(groups=1), Parabolas(1)
    state, alone = started(algorithm, federation), np.array([0])
    for number in range(ROUNDS):
        rng = np.random.default_rng(number)
        state = drive(algorithm.round(state, alone, federation.present, rng), federation)
        check_serving(algorithm, state, clients=1)
    _demand_placed(algorithm, state, alone)


def _only_clients_that_have_arrived_are_asked(subject: AlgorithmSubject) -> None:
    """Newcomers get no orders until they have arrived, and then they are placed."""
    algorithm, federation = subject.made(), Parabolas(CLIENTS)
    present, late = np.arange(CLIENTS) < 10, np.array([2, 10, 11])
    rng = np.random.default_rng(0)
    state = drive(algorithm.start(federation.initial, present, rng), federation)
    for number in range(ROUNDS):
        rng = np.random.default_rng(number)
        state = drive(algorithm.round(state, COHORT, present, rng), federation)
    orders: list[Any] = [order for order, _ in federation.exchanges]
    asked = np.concatenate([COHORT[:0], *(order.clients for order in orders)])
    demand(not np.isin(asked, late[1:]).any(), "Clients were asked that had not arrived.")
    state = drive(algorithm.round(state, late, federation.present, rng), federation)
    _demand_placed(algorithm, state, late)


def _the_state_can_be_saved_between_any_two_rounds(subject: AlgorithmSubject) -> None:
    algorithm, federation, state = _begun(subject)
    for _ in range(ROUNDS + 1):
        why = unreadable_part(state_type(algorithm), state)
        demand(why is None, f"The state cannot be read back from a checkpoint: {why}.")
        again = _written_and_read(algorithm, state)
        demand(same(again, state), "A state changes when it is written and read again.")
        state = advanced(algorithm, state, federation, rounds=1)
        onward = advanced(algorithm, again, Parabolas(CLIENTS), rounds=1)
        demand(same(onward, state), "A run continues differently from a state that was written.")


def _a_single_newcomer_finds_a_model_if_there_is_a_method_for_it(subject: AlgorithmSubject) -> None:
    """An algorithm with a method ``newcomer`` places one client without the others."""
    algorithm, federation, state = _begun(subject)
    if not isinstance(algorithm, Welcoming):
        return
    state, alone = advanced(algorithm, state, federation), np.array([0])
    new = algorithm.newcomer(state)
    check_serving(algorithm, new, clients=1)
    known = np.array_equal(algorithm.serving(new).models, algorithm.serving(state).models)
    demand(known, "A newcomer must find the existing models.")
    again = _written_and_read(algorithm, new)
    demand(same(again, new), "The state of a newcomer changes when it is written and read again.")
    talk = algorithm.round(new, alone, np.array([True]), np.random.default_rng(0))
    _demand_placed(algorithm, drive(talk, Parabolas(1)), alone)


def _its_summary_and_its_options_are_explained(subject: AlgorithmSubject) -> None:
    """The entry has a summary, and options with defaults that are explained."""
    entry = subject.entry
    demand_summary(entry.summary)
    demand(entry.memory(entry.options(), 1000, 7850) >= 0, "Its memory must not be negative.")
    demand_options(entry.options, "[algorithm]")


PROMISES = (
    _the_same_seed_gives_the_same_run_bit_for_bit,
    _another_seed_starts_elsewhere,
    _training_moves_the_models,
    _the_state_is_frozen_and_a_round_leaves_the_old_one_alone,
    _clients_are_served_finite_float32_models,
    _participants_are_placed,
    _all_clients_are_placed_once_all_took_part,
    _it_trains_the_cohort_it_was_given,
    _it_survives_silence_in_any_phase,
    _silent_clients_have_no_influence,
    _it_survives_an_empty_cohort,
    _silent_clients_at_the_start_are_skipped_or_reported,
    _one_client_is_a_federation,
    _only_clients_that_have_arrived_are_asked,
    _the_state_can_be_saved_between_any_two_rounds,
    _a_single_newcomer_finds_a_model_if_there_is_a_method_for_it,
    _its_summary_and_its_options_are_explained,
)


def _begun(subject: AlgorithmSubject) -> tuple[Algorithm[Any], Parabolas, Any]:
    algorithm, federation = subject.made(), Parabolas(CLIENTS)
    return algorithm, federation, started(algorithm, federation)


def _written_and_read(algorithm: Algorithm[Any], state: Any) -> Any:
    arrays: list[NDArray[Any]] = []
    return rebuilt(state_type(algorithm), flattened(state, arrays), arrays)


def _demand_placed(algorithm: Algorithm[Any], state: Any, clients: Ids) -> None:
    lost = clients[algorithm.serving(state).model_of[clients] == NO_GROUP]
    demand(not len(lost), f"Clients {lost.tolist()} took part and have no model.")


def _arrays(state: Any) -> Iterator[NDArray[Any]]:
    """Yield every array and number of a state, however it is nested."""
    if dataclasses.is_dataclass(state):
        for item in dataclasses.fields(state):
            yield from _arrays(getattr(state, item.name))
    elif isinstance(state, tuple | list):
        for part in state:
            yield from _arrays(part)
    elif state is not None:
        yield np.asarray(state)
