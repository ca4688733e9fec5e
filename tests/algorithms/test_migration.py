"""Clients whose data have drifted are placed again, whatever reply is lost."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from flexcfl.algorithms import ALGORITHMS, IFCA
from flexcfl.algorithms.fesem import FesemState
from flexcfl.protocol import (
    NO_GROUP,
    Algorithm,
    CheckDrift,
    Checked,
    Choose,
    Keep,
    Local,
    Migrate,
    Order,
    Place,
    Placed,
    Settle,
    Train,
)
from tests.algorithms.driving import advanced, started

CLIENTS = 12
EVERYBODY = np.arange(CLIENTS)
COHORT = np.array([0, 1, 2, 5])
MIGRATING = sorted(name for name, entry in ALGORITHMS.items() if entry.migrates)
TWINS = [("flexcfl", "fedgroup"), ("ifca-mig", "ifca"), ("fesem-mig", "fesem")]

Federation = Any
Make = Callable[..., Federation]


def made(name: str) -> Algorithm[Any]:
    entry = ALGORITHMS[name]
    small = {"groups": 3, "alpha": 2}
    options = {key: small[key] for key in small if hasattr(entry.options(), key)}
    return entry.make(entry.options(**options), Local(rate=0.5))


def begun(algorithm: Algorithm[Any], federation: Federation) -> Any:
    """Start; IFCA with a model near each optimum of the clients."""
    places = iter(8 * np.eye(3, dtype=np.float32))
    near = isinstance(algorithm, IFCA)
    return started(algorithm, federation, initial=(lambda rng: next(places)) if near else None)


def everybody_placed(name: str, parabolas: Make) -> tuple[Algorithm[Any], Any, Federation]:
    algorithm, federation = made(name), parabolas(CLIENTS)
    state = advanced(algorithm, begun(algorithm, federation), federation, EVERYBODY)
    for number in range(1, 6):
        state = advanced(algorithm, state, federation, EVERYBODY, first=number)
    federation.exchanges.clear()
    return algorithm, state, federation


def orders(federation: Federation, kind: type[Order[Any]]) -> list[Any]:
    return [order for order, _ in federation.exchanges if isinstance(order, kind)]


@dataclass
class Lossy:
    """Clients that fulfil all orders, but lose their replies to one kind of order."""

    federation: Federation
    kind: type[Order[Any]]

    def __call__(self, order: Order[Any]) -> Any:
        reply = self.federation(order)
        if not isinstance(order, self.kind):
            return reply
        fields = {name: value[:0] for name, value in vars(reply).items()}
        return replace(reply, **fields)


@pytest.mark.parametrize("name", MIGRATING)
def test_everybody_who_has_drifted_is_placed_again_before_the_training(
    name: str, parabolas: Make
) -> None:
    algorithm, state, federation = everybody_placed(name, parabolas)
    federation.kinds[[3, 5, 7]] = (federation.kinds[[3, 5, 7]] + 1) % 3
    state = advanced(algorithm, state, federation, COHORT, first=9)
    assert federation.known == dict(enumerate(federation.kinds.tolist()))
    kinds = [type(order) for order, _ in federation.exchanges]
    assert kinds[0] is CheckDrift
    assert kinds.index(Train) > 1
    again = advanced(algorithm, state, federation, COHORT, first=10)
    assert (algorithm.serving(again).model_of != NO_GROUP).all()


@pytest.mark.parametrize("name", ["flexcfl", "flexcfl-rcc", "ifca-mig"])
def test_a_client_moves_to_the_group_of_those_like_it(name: str, parabolas: Make) -> None:
    algorithm, state, federation = everybody_placed(name, parabolas)
    before = algorithm.serving(state).model_of
    assert len({int(before[client]) for client in range(3)}) == 3
    federation.kinds[3] = 1  # it was 0
    after = algorithm.serving(advanced(algorithm, state, federation, COHORT, first=9)).model_of
    assert after[3] == before[1] != before[3]
    others = np.delete(EVERYBODY, [3, *COHORT])
    assert np.array_equal(after[others], before[others])


def test_migration_is_local_and_a_migrated_client_trains_in_its_new_group(parabolas: Make) -> None:
    algorithm, state, federation = everybody_placed("flexcfl", parabolas)
    federation.kinds[5] = 0
    after = advanced(algorithm, state, federation, COHORT, first=9)
    (migrate,) = orders(federation, Migrate)
    assert migrate.clients.tolist() == [5]
    assert migrate.down_bytes == 0
    assert migrate.local == algorithm.options.pretraining(algorithm.local)  # type: ignore[attr-defined]
    (train,) = orders(federation, Train)
    assert train.model_of.tolist() == after.group_of[COHORT].tolist()
    assert after.group_of[5] == after.group_of[0]
    assert not orders(federation, Place)


@pytest.mark.parametrize("name", ["flexcfl", "flexcfl-rcc"])
def test_who_has_lost_what_it_kept_is_placed_like_a_newcomer_when_it_is_chosen(
    name: str, parabolas: Make
) -> None:
    algorithm, state, federation = everybody_placed(name, parabolas)
    lost = np.array([0, 3])  # the first one is in the cohort

    def forgetful(order: Order[Any]) -> Any:
        reply = federation(order)
        if isinstance(order, CheckDrift):
            return Checked(reply.clients, np.isin(reply.clients, lost))
        if isinstance(order, Migrate):
            nothing = np.full(len(reply.clients), NO_GROUP)
            return Placed(reply.clients, nothing)
        return reply

    after = advanced(algorithm, state, forgetful, COHORT, first=9)
    (place,) = orders(federation, Place)
    assert place.clients.tolist() == [0]
    assert after.group_of[0] == state.group_of[0]
    assert after.group_of[3] == NO_GROUP
    assert not after.drifted.any()
    again = advanced(algorithm, after, federation, EVERYBODY, first=10)
    assert np.array_equal(again.group_of, state.group_of)


@pytest.mark.parametrize(("name", "kind"), [("flexcfl", Migrate), ("ifca-mig", Choose)])
def test_a_verdict_stands_until_the_client_has_been_placed(
    name: str, kind: type[Order[Any]], parabolas: Make
) -> None:
    algorithm, state, federation = everybody_placed(name, parabolas)
    before = algorithm.serving(state).model_of.copy()
    federation.kinds[3] = 1
    lost = advanced(algorithm, state, Lossy(federation, kind), COHORT, first=9)
    assert algorithm.serving(lost).model_of[3] == before[3]
    federation.exchanges.clear()
    # The client has done its part and says that all is well; the server has not forgotten.
    found = advanced(algorithm, lost, federation, COHORT, first=10)
    ((_, checked), *_) = federation.exchanges
    assert not checked.drifted.any()
    assert orders(federation, kind)[0].clients.tolist() == [3]
    assert algorithm.serving(found).model_of[3] != before[3]
    federation.exchanges.clear()
    advanced(algorithm, found, federation, COHORT, first=11)
    assert not orders(federation, kind)


@pytest.mark.parametrize("name", MIGRATING)
def test_a_lost_verdict_is_given_again(name: str, parabolas: Make) -> None:
    algorithm, state, federation = everybody_placed(name, parabolas)
    federation.kinds[3] = 1
    cohort = np.array([0, 1])
    lost = advanced(algorithm, state, Lossy(federation, CheckDrift), cohort, first=9)
    assert federation.known[3] == 0
    advanced(algorithm, lost, federation, cohort, first=10)
    assert federation.known[3] == 1


@pytest.mark.parametrize("name", MIGRATING)
def test_only_those_with_a_group_are_asked_and_nobody_where_there_are_none(
    name: str, parabolas: Make
) -> None:
    algorithm, federation = made(name), parabolas(CLIENTS)
    state = begun(algorithm, federation)
    placed = np.flatnonzero(algorithm.serving(state).model_of != NO_GROUP)
    federation.exchanges.clear()
    advanced(algorithm, state, federation, COHORT)
    asked = [order.clients.tolist() for order in orders(federation, CheckDrift)]
    assert asked == ([placed.tolist()] if len(placed) else [])
    assert not orders(federation, Migrate)
    assert not orders(federation, Choose)


@pytest.mark.parametrize("name", sorted(set(ALGORITHMS) - set(MIGRATING)))
def test_who_does_not_migrate_does_not_ask_either(name: str, parabolas: Make) -> None:
    algorithm, _, federation = everybody_placed(name, parabolas)
    federation.kinds[:] = 0
    advanced(algorithm, begun(algorithm, federation), federation, COHORT)
    for kind in (CheckDrift, Migrate, Choose, Settle, Keep):
        assert not orders(federation, kind)


@pytest.mark.parametrize(("migrating", "plain"), TWINS)
def test_without_drift_migration_changes_nothing(
    migrating: str, plain: str, parabolas: Make
) -> None:
    one, other = (everybody_placed(name, parabolas) for name in (migrating, plain))
    mine, theirs = one[0].serving(one[1]), other[0].serving(other[1])
    assert np.array_equal(mine.models, theirs.models)
    assert np.array_equal(mine.model_of, theirs.model_of)


def test_fesem_mig_joins_the_group_nearest_to_the_stored_model_and_sends_no_model(
    parabolas: Make,
) -> None:
    algorithm, state, federation = everybody_placed("fesem-mig", parabolas)
    assert isinstance(state, FesemState)
    stored = list(state.local_models)
    own = state.models[state.group_of[4]].copy()
    stored[3] = own
    state = replace(state, local_models=tuple(stored), group_of=state.group_of * 0 + 2)
    federation.kinds[3] = 1
    after = advanced(algorithm, state, federation, np.array([0, 1]), first=9)
    distances = ((state.models - own) ** 2).sum(axis=1)
    assert after.group_of[3] == distances.argmin()
    settle, *_ = orders(federation, Settle)
    assert settle.clients.tolist() == [3]
    assert {type(order) for order, _ in federation.exchanges} == {CheckDrift, Settle, Train}


def test_random_placement_redoes_the_draw_for_drifted_clients(parabolas: Make) -> None:
    algorithm, state, federation = everybody_placed("flexcfl-rac", parabolas)
    moved = set()
    for number in range(20):
        federation.kinds[3] = (federation.kinds[3] + 1) % 3
        state = advanced(algorithm, state, federation, COHORT, first=number)
        moved.add(int(state.group_of[3]))
    assert moved == {0, 1, 2}
    assert not orders(federation, Place)


def test_a_founder_that_did_not_keep_the_directions_is_a_newcomer_again(parabolas: Make) -> None:
    algorithm = made("flexcfl")
    heard = begun(algorithm, parabolas(CLIENTS))
    founders = np.flatnonzero(heard.group_of != NO_GROUP)
    silent = parabolas(CLIENTS, silent=frozenset(founders[:2].tolist()), phase="keep")
    state = begun(algorithm, silent)
    assert (state.group_of[founders[:2]] == NO_GROUP).all()
    assert (state.group_of[founders[2:]] == heard.group_of[founders[2:]]).all()
    later = advanced(algorithm, state, parabolas(CLIENTS), founders)
    assert (later.group_of[founders] != NO_GROUP).all()
