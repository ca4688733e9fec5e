"""FlexCFL, FedGroup and the ablations: founding, placing, training, sharing."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from flexcfl.algorithms import ALGORITHMS, FedAvg, FlexCFL, FlexcflOptions, RccOptions
from flexcfl.algorithms.cold_start import pretrained
from flexcfl.algorithms.flexcfl import memory
from flexcfl.errors import SettingsError, TrainingError
from flexcfl.protocol import (
    NO_GROUP,
    CheckDrift,
    Checked,
    Conversation,
    Keep,
    Kept,
    Local,
    Place,
    Placed,
    Train,
    Trained,
    drive,
)
from flexcfl.settings import validated
from tests.algorithms.driving import advanced, started

LOCAL = Local(rate=0.5)
THREE = FlexcflOptions(groups=3, alpha=2)

Federation = Any
Make = Callable[..., Federation]


def finished(conversation: Conversation[Any], reply: Any) -> Any:
    with pytest.raises(StopIteration) as stop:
        conversation.send(reply)
    return stop.value.value


def phases(federation: Federation) -> list[str]:
    return [
        order.purpose if isinstance(order, Train) else type(order).__name__
        for order, _ in federation.exchanges
    ]


def test_a_conversation_by_hand() -> None:
    method = FlexCFL(Local(rate=0.5, epochs=7), FlexcflOptions(groups=2, alpha=1))
    origin = np.array([1.0, 1.0], np.float32)
    everybody = np.ones(4, np.bool_)
    talk = method.start(lambda rng: origin, everybody, np.random.default_rng(0))

    order = next(talk)
    assert isinstance(order, Train)
    assert order.purpose == "cold-start"
    assert order.local == Local(rate=0.5, epochs=7, steps=50)
    assert np.array_equal(order.models, origin[np.newaxis])
    founders = order.clients
    assert len(founders) == 2

    updates = np.array([[4.0, 0.0], [0.0, 2.0]], np.float32)
    order = talk.send(Trained(founders, updates, np.array([9, 1]), np.zeros(2), np.zeros(2, int)))
    assert isinstance(order, Keep)
    assert order.clients.tolist() == founders.tolist()
    assert np.array_equal(order.directions, updates)
    state = finished(talk, Kept(founders))
    assert np.array_equal(state.models, [[5.0, 1.0], [1.0, 3.0]])
    assert state.group_of[founders].tolist() == [0, 1]

    newcomer = int(np.flatnonzero(state.group_of == NO_GROUP)[0])
    cohort = np.sort([newcomer, founders[0]])
    talk = method.round(state, cohort, everybody, np.random.default_rng(0))
    order = next(talk)
    assert isinstance(order, CheckDrift)
    assert order.clients.tolist() == founders.tolist()
    order = talk.send(Checked(founders, np.array([False, False])))
    assert isinstance(order, Place)
    assert order.clients.tolist() == [newcomer]
    assert order.origin is state.origin
    assert order.local.steps == 50
    order = talk.send(Placed(np.array([newcomer]), np.array([1])))
    assert isinstance(order, Train)
    assert order.purpose == "training"
    assert order.clients.tolist() == cohort.tolist()
    assert np.array_equal(order.model_of, np.where(cohort == newcomer, 1, 0))
    assert order.local == method.local
    steps = np.array([[1.0, 0.0], [0.0, 1.0]], np.float32)
    reply = Trained(cohort, steps, np.array([3, 5]), np.zeros(2), np.asarray(order.model_of))
    state = finished(talk, reply)
    moved = steps[np.argsort(reply.model_of)]
    assert np.array_equal(state.models, np.array([[5.0, 1.0], [1.0, 3.0]]) + moved)
    assert state.group_of[newcomer] == 1


@pytest.mark.parametrize("measure", ["edc", "madc"])
@pytest.mark.parametrize("seed", range(3))
def test_known_kinds_are_recovered_from_a_third_of_the_clients(
    parabolas: Make, measure: Any, seed: int
) -> None:
    federation = parabolas(36)
    method = FlexCFL(LOCAL, FlexcflOptions(groups=3, alpha=4, measure=measure))
    state = started(method, federation, seed)
    assert (state.group_of != NO_GROUP).sum() == 12
    state = advanced(method, state, federation, np.arange(36))
    assert adjusted_rand_score(federation.kinds, state.group_of) == 1
    assert state.clustering.groups == 3
    assert state.clustering.silhouette > 0.9


def test_a_direction_is_the_plain_mean_of_its_founders_updates(parabolas: Make) -> None:
    federation = parabolas(12)
    state = started(FlexCFL(LOCAL, THREE), federation)
    _, trained = federation.exchanges[0]
    for group in range(3):
        own = trained.updates[state.group_of[trained.clients] == group]
        np.testing.assert_allclose(state.directions[group], own.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(state.models, state.origin + state.directions, rtol=1e-6)


def test_groups_may_begin_at_the_origin(parabolas: Make) -> None:
    options = FlexcflOptions(groups=3, alpha=2, first_model="origin")
    state = started(FlexCFL(LOCAL, options), parabolas(12))
    assert np.array_equal(state.models, np.tile(state.origin, (3, 1)))


def test_one_group_that_begins_at_the_origin_is_fedavg(parabolas: Make) -> None:
    federation, cohorts = parabolas(12), [[0, 3, 5], [2, 3, 11], [1, 4, 8]]
    one = FlexCFL(LOCAL, FlexcflOptions(groups=1, alpha=2, first_model="origin"))
    mine: Any = started(one, federation)
    theirs: Any = started(FedAvg(LOCAL), federation)
    for cohort in cohorts:
        mine = advanced(one, mine, federation, np.array(cohort))
        theirs = advanced(FedAvg(LOCAL), theirs, federation, np.array(cohort))
        assert np.array_equal(mine.models, theirs.models)


def test_silent_founders_are_replaced_while_there_are_others(parabolas: Make) -> None:
    federation = parabolas(12, silent=frozenset(range(5)), phase="cold-start")
    state = started(FlexCFL(LOCAL, THREE), federation)
    founders = np.flatnonzero(state.group_of != NO_GROUP)
    assert len(founders) == 6
    assert founders.min() >= 5
    asked = [order.clients for order, _ in federation.exchanges if isinstance(order, Train)]
    assert len(asked) > 1
    everyone = np.concatenate(asked)
    assert len(set(everyone.tolist())) == len(everyone), "nobody is asked twice"


def test_too_few_answers_found_no_groups(parabolas: Make) -> None:
    federation = parabolas(12, silent=frozenset(range(10)))
    with pytest.raises(TrainingError, match=r"Only 2 .* found 3 groups"):
        started(FlexCFL(LOCAL, THREE), federation)


def test_enough_answers_for_the_groups_are_enough(parabolas: Make) -> None:
    federation = parabolas(12, silent=frozenset(range(9)))
    assert (started(FlexCFL(LOCAL, THREE), federation).group_of != NO_GROUP).sum() == 3


def test_a_founder_that_did_not_move_is_no_founder() -> None:
    present, origin = np.ones(4, np.bool_), np.zeros(2, np.float32)
    talk = pretrained(origin, 2, 2, present, LOCAL, np.random.default_rng(0))
    order: Any = next(talk)
    updates = np.array([[0.0, 0.0], [1.0, 2.0]], np.float32)
    zeros = np.zeros(2, np.int64)
    order = talk.send(Trained(order.clients, updates, zeros + 1, np.zeros(2), zeros))
    assert len(order.clients) == 1, "one more is asked in its place"
    one = np.array([[3.0, 4.0]], np.float32)
    founders = finished(talk, Trained(order.clients, one, zeros[:1], np.zeros(1), zeros[:1]))
    assert founders.updates.any(axis=1).all()
    assert founders.clients.tolist() == sorted(founders.clients.tolist())


def test_founders_that_never_move_are_reported() -> None:
    talk = FlexCFL(LOCAL, THREE).start(
        lambda rng: np.zeros(2, np.float32), np.ones(6, np.bool_), np.random.default_rng(0)
    )
    order: Any = next(talk)
    still = np.zeros((len(order.clients), 2), np.float32)
    zeros = np.zeros(len(still), np.int64)
    with pytest.raises(TrainingError, match="answered with an update"):
        talk.send(Trained(order.clients, still, zeros + 1, np.zeros(len(still)), zeros))


def test_newcomers_that_are_silent_while_placed_sit_the_round_out(parabolas: Make) -> None:
    method, start = FlexCFL(LOCAL, THREE), parabolas(12)
    state = started(method, start)
    newcomers = np.flatnonzero(state.group_of == NO_GROUP)
    quiet = parabolas(12, silent=frozenset({int(newcomers[0])}), phase="place")
    after = advanced(method, state, quiet, np.arange(12))
    assert after.group_of[newcomers[0]] == NO_GROUP
    assert (after.group_of[newcomers[1:]] != NO_GROUP).all()
    order = quiet.exchanges[-1][0]
    assert isinstance(order, Train)
    assert newcomers[0] not in order.clients


def test_a_newcomer_is_placed_and_trains_in_the_same_round_and_is_placed_once(
    parabolas: Make,
) -> None:
    method, federation = FlexCFL(LOCAL, THREE), parabolas(12)
    state = started(method, federation)
    federation.exchanges.clear()
    state = advanced(method, state, federation, np.arange(12))
    advanced(method, state, federation, np.arange(12))
    assert phases(federation) == ["CheckDrift", "Place", "training", "CheckDrift", "training"]


def test_a_group_without_selected_clients_keeps_its_model(parabolas: Make) -> None:
    method, federation = FlexCFL(LOCAL, THREE), parabolas(12)
    state = started(method, federation)
    founder = int(np.flatnonzero(state.group_of == 1)[0])
    after = advanced(method, state, federation, np.array([founder]))
    assert np.array_equal(after.models[[0, 2]], state.models[[0, 2]])
    assert not np.array_equal(after.models[1], state.models[1])


def test_groups_share_at_the_rate_eta_g(parabolas: Make) -> None:
    cohort = np.arange(12)
    alone = FlexCFL(LOCAL, THREE)
    together = FlexCFL(LOCAL, FlexcflOptions(groups=3, alpha=2, eta_g=0.5, sharing="additive"))
    state = started(alone, parabolas(12))
    apart = advanced(alone, state, parabolas(12), cohort).models.astype(np.float64)
    shared = advanced(together, state, parabolas(12), cohort).models
    lengths = np.linalg.norm(apart, axis=1, keepdims=True)
    directions = apart / lengths
    expected = [apart[j] + 0.5 * (directions.sum(axis=0) - directions[j]) for j in range(3)]
    np.testing.assert_allclose(shared, expected, rtol=1e-5)


def test_the_auxiliary_model_is_the_mean_of_the_groups(parabolas: Make) -> None:
    method = FlexCFL(LOCAL, THREE)
    state = started(method, parabolas(12))
    auxiliary = method.serving(state).auxiliary
    assert auxiliary is not None
    np.testing.assert_allclose(auxiliary, state.models.mean(axis=0), rtol=1e-6)


def test_the_proximal_term_reaches_training_inside_groups(parabolas: Make) -> None:
    method, federation = FlexCFL(Local(rate=0.5, prox=2.0), THREE), parabolas(12)
    advanced(method, started(method, federation), federation, np.arange(12))
    training = [
        order.local for order, _ in federation.exchanges if isinstance(order, Train | Place)
    ]
    assert [local.prox for local in training] == [0.0, 0.0, 2.0]


@pytest.mark.parametrize(
    ("options", "epochs", "steps"),
    [({}, 7, 50), ({"pretraining_steps": 3}, 7, 3), ({"pretraining_epochs": 1}, 1, None)],
)
def test_regression_the_length_of_pre_training_is_the_one_that_was_set(
    parabolas: Make, options: dict[str, Any], epochs: int, steps: int | None
) -> None:
    # The released code hard-codes it, although there is an option.
    method = FlexCFL(Local(rate=0.5, epochs=7), FlexcflOptions(groups=3, alpha=2, **options))
    federation = parabolas(12)
    advanced(method, started(method, federation), federation, np.arange(12))
    locals_ = [order.local for order, _ in federation.exchanges if isinstance(order, Train | Place)]
    assert [(local.epochs, local.steps) for local in locals_[:2]] == [(epochs, steps)] * 2
    assert locals_[2] == method.local


@given(st.integers(1, 6), st.integers(1, 9), st.integers(7, 60))
def test_regression_there_are_alpha_founders_for_each_group(
    groups: int, alpha: int, clients: int
) -> None:
    options = FlexcflOptions(groups=groups, alpha=alpha)
    origin = np.zeros(2, np.float32)
    start = FlexCFL(LOCAL, options).start(
        lambda rng: origin, np.ones(clients, np.bool_), np.random.default_rng(0)
    )
    order = next(start)
    assert isinstance(order, Train)
    assert len(order.clients) == min(alpha * groups, clients)


def test_more_groups_than_clients(parabolas: Make) -> None:
    with pytest.raises(SettingsError, match=r"3 groups need .* there are 2: lower"):
        started(FlexCFL(LOCAL, THREE), parabolas(2))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"eta_g": -0.1}, "eta_g must be"),
        ({"eta_g": float("nan")}, "eta_g must be"),
        ({"measure": "cosine"}, "measure must be 'edc' or 'madc'"),
        ({"groups": 0}, "groups must be"),
        ({"groups": "many"}, "groups must be"),
        ({"alpha": 0}, "alpha must be"),
        ({"sharing": "sum"}, "sharing must be"),
        ({"first_model": "zero"}, "first_model must be"),
        ({"pretraining_steps": 0}, "pretraining_steps must be"),
        ({"founders": 3}, "no setting 'founders'"),
    ],
)
def test_options_that_cannot_be_meant(table: Mapping[str, object], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        validated(FlexcflOptions, table, "[algorithm]")


def test_fedgroup_is_flexcfl_while_nothing_changes(parabolas: Make) -> None:
    runs = []
    for name in ("flexcfl", "fedgroup"):
        method: Any = ALGORITHMS[name].make(THREE, LOCAL)
        federation = parabolas(12)
        state = advanced(method, started(method, federation), federation, np.arange(12))
        runs.append(state)
    assert np.array_equal(runs[0].models, runs[1].models)
    assert np.array_equal(runs[0].group_of, runs[1].group_of)


def test_rcc_takes_random_clients_for_centres(parabolas: Make) -> None:
    method: Any = ALGORITHMS["flexcfl-rcc"].make(RccOptions(groups=4), LOCAL)
    federation = parabolas(12)
    state = started(method, federation)
    _, trained = federation.exchanges[0]
    assert len(trained.clients) == 4
    assert np.array_equal(state.directions, trained.updates)
    assert state.group_of[trained.clients].tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(state.models, state.origin + trained.updates, rtol=1e-6)
    federation.exchanges.clear()
    state = advanced(method, state, federation, np.arange(12))
    assert phases(federation) == ["CheckDrift", "Place", "training"]
    assert (state.group_of != NO_GROUP).all()


def test_rac_keeps_founders_and_places_all_others_at_random(parabolas: Make) -> None:
    method: Any = ALGORITHMS["flexcfl-rac"].make(FlexcflOptions(groups=3, alpha=20), LOCAL)
    flexcfl, federation = FlexCFL(LOCAL, FlexcflOptions(groups=3, alpha=20)), parabolas(300)
    state = started(method, federation)
    assert np.array_equal(state.group_of, started(flexcfl, parabolas(300)).group_of)
    federation.exchanges.clear()
    after = advanced(method, state, federation, np.arange(300))
    assert phases(federation) == ["CheckDrift", "Settle", "training"]
    founders = state.group_of != NO_GROUP
    assert np.array_equal(after.group_of[founders], state.group_of[founders])
    counts = np.bincount(after.group_of[~founders], minlength=3)
    assert counts.sum() == 240
    assert counts.min() > 50
    chance = adjusted_rand_score(federation.kinds[~founders], after.group_of[~founders])
    assert abs(chance) < 0.05


def test_rac_is_refused_when_nobody_is_left_to_place(parabolas: Make) -> None:
    method: Any = ALGORITHMS["flexcfl-rac"].make(FlexcflOptions(groups=3, alpha=4), LOCAL)
    with pytest.raises(SettingsError, match="All 12 clients would be founders"):
        started(method, parabolas(12))


def test_rac_is_not_refused_where_others_are_still_to_arrive(parabolas: Make) -> None:
    method: Any = ALGORITHMS["flexcfl-rac"].make(FlexcflOptions(groups=3, alpha=4), LOCAL)
    federation, present = parabolas(12), np.arange(12) < 9
    rng = np.random.default_rng(0)
    state = drive(method.start(federation.initial, present, rng), federation)
    assert (state.group_of != NO_GROUP).sum() == 9


def test_what_a_client_draws_in_rac_does_not_depend_on_who_else_is_new(parabolas: Make) -> None:
    options = FlexcflOptions(groups=3, alpha=2)
    method: Any = ALGORITHMS["flexcfl-rac"].make(options, LOCAL)
    federation = parabolas(60)
    state = started(method, federation)
    newcomers = np.flatnonzero(state.group_of == NO_GROUP)
    together = advanced(method, state, federation, newcomers).group_of
    for client in newcomers[-10:]:
        alone = advanced(method, state, federation, np.array([client])).group_of
        assert alone[client] == together[client]


def test_nothing_is_shared_in_a_round_in_which_nobody_answers(parabolas: Make) -> None:
    method = FlexCFL(LOCAL, FlexcflOptions(groups=3, alpha=2, eta_g=0.5))
    state = started(method, parabolas(12))
    quiet = parabolas(12, silent=frozenset(range(12)), phase="training")
    assert np.array_equal(advanced(method, state, quiet, np.arange(12)).models, state.models)


@pytest.mark.slow
def test_auto_finds_the_kinds(parabolas: Make) -> None:
    federation = parabolas(60)
    method = FlexCFL(LOCAL, FlexcflOptions(groups="auto", alpha=5))
    state = started(method, federation)
    assert len(state.models) == 3
    state = advanced(method, state, federation, np.arange(60))
    assert adjusted_rand_score(federation.kinds, state.group_of) == 1


def test_the_founders_updates_are_the_memory_that_it_needs() -> None:
    assert memory(FlexcflOptions(groups=5), clients=500, parameters=3_274_634) == 1_309_853_600
    assert memory(FlexcflOptions(groups="auto", alpha=3), clients=20, parameters=10) == 800
