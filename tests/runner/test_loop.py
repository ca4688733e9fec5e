"""The loop over rounds."""

import gc
import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from flexcfl.algorithms import FedAvg
from flexcfl.errors import SettingsError
from flexcfl.experiment.experiment import RunSettings
from flexcfl.protocol import (
    Algorithm,
    Conversation,
    Evaluate,
    Executor,
    Flags,
    Ids,
    Local,
    Order,
    Place,
    Received,
    Serving,
    Traffic,
    Train,
    ask,
    of_those,
)
from flexcfl.protocol.cohorts import Cohorts
from flexcfl.record.tables import LEDGER, MESSAGES, MISSING, TIMINGS, Messages, Missing, Round
from flexcfl.runner.conversation import evaluation_sample as drawn
from flexcfl.runner.loop import train
from tests.runner.parity import FOUNDERS, Ones, Parity, zeros

CLIENTS = 8
THERE = np.zeros(CLIENTS, np.int64)
# The last three clients arrive in round 3, after two rounds of three have met the first five.
LATER = np.array([0, 0, 0, 0, 0, 3, 3, 3])
TOUR: dict[str, Any] = {"cohorts": "round-robin-then-uniform"}
FEDAVG = FedAvg(Local())


def rounds(
    world: Ones, algorithm: Algorithm[Any] = FEDAVG, arrival: Ids = THERE, **settings: Any
) -> list[Round]:
    run = RunSettings(**settings)
    cohorts = Cohorts(run.seed, arrival, run.cohort, run.cohorts)
    return list(train(algorithm, world, zeros, cohorts, run))


@dataclass(frozen=True)
class Curious(FedAvg):
    """FedAvg that wants to know how well its cohort does."""

    def round(self, state: Serving, cohort: Ids, present: Flags, rng: Any) -> Conversation[Serving]:
        state = yield from super().round(state, cohort, present, rng)
        yield from ask(Evaluate(cohort, state.models, cohort * 0))
        return state


@dataclass(frozen=True)
class Twice(FedAvg):
    """FedAvg in two phases."""

    def round(self, state: Serving, cohort: Ids, present: Flags, rng: Any) -> Conversation[Serving]:
        state = yield from super().round(state, cohort, present, rng)
        return (yield from super().round(state, cohort, present, rng))


CURIOUS, TWICE = Curious(Local()), Twice(Local())


def test_rounds_are_counted_from_one_and_carry_the_state_on() -> None:
    done = rounds(Ones(), rounds=4, cohort=3)
    assert [each.figures.round for each in done] == [1, 2, 3, 4]
    assert [each.serving.models.max() for each in done] == [1, 2, 3, 4]


def test_figures_of_a_round() -> None:
    cohort = Cohorts(0, THERE, 3).choose(1)
    figures = rounds(Ones(), rounds=1, cohort=3)[0].figures
    assert figures.accuracy == 0.01
    assert figures.newcomers_accuracy is figures.auxiliary_accuracy is None
    assert figures.loss == pytest.approx(np.average(cohort, weights=cohort + 1))
    assert figures.discrepancy == pytest.approx(0, abs=1e-6)
    assert (figures.cohort, figures.placed) == (3, CLIENTS)
    assert (figures.down_bytes, figures.up_bytes) == (3 * 8, 3 * (8 + 24))


@pytest.mark.parametrize("arrival", [THERE, LATER])
def test_the_experiments_cohorts_are_asked(arrival: Ids) -> None:
    world = Ones()
    rounds(world, arrival=arrival, rounds=5, cohort=3, seed=9, **TOUR)
    asked = [order.clients.tolist() for _, order in world.orders if isinstance(order, Train)]
    expected = [
        Cohorts(9, arrival, 3, "round-robin-then-uniform").choose(number).tolist()
        for number in range(1, 6)
    ]
    assert asked == expected


def test_an_algorithm_receives_the_present_clients() -> None:
    told: list[list[int]] = []

    class Curious(Parity):
        def start(self, initial: Any, present: Flags, rng: Any) -> Conversation[Serving]:
            told.append(np.flatnonzero(present).tolist())
            return super().start(initial, present, rng)

        def round(
            self, state: Serving, cohort: Ids, present: Flags, rng: Any
        ) -> Conversation[Serving]:
            told.append(np.flatnonzero(present).tolist())
            return super().round(state, cohort, present, rng)

    rounds(Ones(), Curious(), LATER, rounds=3, cohort=3)
    assert told == [list(range(5))] * 3 + [list(range(8))]


def test_evaluation_follows_every_nth_round_and_the_last() -> None:
    world = Ones()
    done = rounds(world, rounds=5, cohort=2, evaluate_every=2)
    assert [each.figures.accuracy for each in done] == [None, 0.02, None, 0.04, 0.05]
    assert [each.groups[0].accuracy for each in done] == [None, 0.02, None, 0.04, 0.05]
    evaluations = [order for _, order in world.orders if isinstance(order, Evaluate)]
    assert len(evaluations) == 3
    for order in evaluations:
        assert order.clients.tolist() == list(range(CLIENTS))
        assert order.split == "test"


def test_every_client_is_tested_on_the_new_model_of_its_group_also_outside_the_cohort() -> None:
    world = Ones()
    done = rounds(world, Parity(), rounds=9, cohort=2, **TOUR)
    for each in done:
        number = each.figures.round
        tests = next(o for n, o in world.orders if n == number and isinstance(o, Evaluate))
        trained = next(o for n, o in world.orders if n == number and isinstance(o, Train))
        away = ~np.isin(tests.clients, trained.clients)
        assert away.any()
        np.testing.assert_array_equal(tests.models[:-1], each.serving.models)
        own = tests.model_of < len(each.serving.models)  # the rest is for the auxiliary model
        np.testing.assert_array_equal(tests.model_of[own], tests.clients[own] % 2)
    assert not np.array_equal(done[-2].serving.models, done[-1].serving.models)


def test_accuracy_is_empty_until_everybody_who_has_arrived_is_placed() -> None:
    world = Ones()
    done = rounds(world, Parity(), LATER, rounds=5, cohort=2, seed=4, **TOUR)
    placed = [each.figures.placed for each in done]
    present = [each.present for each in done]
    assert present == [5, 5, 8, 8, 8]
    assert placed[-1] == 8
    for each in done:
        complete = each.figures.placed == each.present
        assert (each.figures.accuracy is not None) == complete
    orders = [order for _, order in world.orders if isinstance(order, Evaluate)]
    auxiliary = [order.model_of == len(order.models) - 1 for order in orders]
    assert [int((~flags).sum()) for flags in auxiliary] == placed
    assert [int(flags.sum()) for flags in auxiliary] == present


def test_newcomers_have_an_accuracy_from_their_arrival_on() -> None:
    done = rounds(Ones(), arrival=LATER, rounds=4, cohort=2)
    assert [each.figures.newcomers_accuracy for each in done] == [None, None, 0.03, 0.04]
    grouped = rounds(Ones(), Parity(), LATER, rounds=4, cohort=3, **TOUR)
    models = grouped[-1].serving.models[:, 0]
    # Clients 5, 6 and 7: two are odd.
    assert grouped[-1].figures.newcomers_accuracy == pytest.approx(
        (2 * models[1] + models[0]) / 300
    )
    assert all(
        each.figures.newcomers_accuracy is None for each in rounds(Ones(), rounds=2, cohort=2)
    )


def test_the_auxiliary_model_is_tested_by_all_present_clients() -> None:
    done = rounds(Ones(), Parity(), LATER, rounds=4, cohort=3, evaluate_every=2)
    found = [each.figures.auxiliary_accuracy for each in done]
    assert found[0] is found[2] is None
    for each in done[1::2]:
        assert each.serving.auxiliary is not None
        hits = np.rint(each.serving.auxiliary[0])
        assert each.figures.auxiliary_accuracy == pytest.approx(hits / 100)


def test_figures_of_groups() -> None:
    world = Ones()
    done = rounds(world, Parity(), LATER, rounds=5, cohort=3, **TOUR)
    for each in done:
        number, group_of = each.figures.round, each.serving.model_of
        cohort = Cohorts(0, LATER, 3, "round-robin-then-uniform").choose(number)
        assert [(line.round, line.group) for line in each.groups] == [(number, 0), (number, 1)]
        for line in each.groups:
            members = cohort[cohort % 2 == line.group]
            assert line.clients == int((group_of == line.group).sum())
            assert line.accuracy == pytest.approx(each.serving.models[line.group, 0] / 100)
            if len(members):
                assert line.loss == pytest.approx(np.average(members, weights=members + 1))
                assert line.discrepancy == pytest.approx(0, abs=1e-6)
            else:
                assert line.loss is line.discrepancy is None
    assert sum(line.clients for line in done[-1].groups) == 8


def test_a_group_counts_its_members_only_from_their_arrival_on() -> None:
    done = rounds(Ones(), arrival=LATER, rounds=3, cohort=2)
    assert [each.groups[0].clients for each in done] == [5, 5, 8]
    assert [each.figures.placed for each in done] == [5, 5, 8]


def test_the_traffic_of_the_start_is_in_the_first_line() -> None:
    world = Ones()
    done = rounds(world, Parity(), rounds=2, cohort=3, **TOUR)
    # A model to and an update with three figures from each founder.
    founding = (FOUNDERS * 8, FOUNDERS * (8 + 24))
    for each, (down, up) in zip(done, (founding, (0, 0)), strict=True):
        orders = [o for n, o in world.orders if n == each.figures.round]
        sent = [o for o in orders if isinstance(o, Train | Place)]
        assert each.figures.down_bytes == sum(o.down_bytes for o in sent) + down
        placing = sum(len(o.clients) for o in orders if isinstance(o, Place)) * 8
        assert each.figures.up_bytes == 3 * (8 + 24) + placing + up


def test_what_was_trained_to_found_groups_is_no_part_of_the_first_loss() -> None:
    cohort = Cohorts(0, THERE, 3).choose(1)
    figures = rounds(Ones(), Parity(), rounds=1, cohort=3)[0].figures
    assert figures.loss == pytest.approx(np.average(cohort, weights=cohort + 1))


def test_evaluation_is_no_traffic_and_takes_its_own_time() -> None:
    every, never = (rounds(Ones(), rounds=2, cohort=2, evaluate_every=n) for n in (1, 2))
    assert every[0].figures.down_bytes == never[0].figures.down_bytes
    assert all(each.rows[TIMINGS][0].training > 0 for each in every)
    assert [each.rows[TIMINGS][0].round for each in every] == [1, 2]


def test_what_the_algorithm_asks_is_charged_and_what_the_run_measures_is_not() -> None:
    """Also if both are the same question."""
    plain, asking = (rounds(Ones(), each, rounds=2, cohort=3) for each in (FEDAVG, CURIOUS))
    for one, other in zip(plain, asking, strict=True):
        assert [cost.purpose for cost in one.rows[LEDGER]] == ["training", "evaluation"]
        assert [cost.purpose for cost in other.rows[LEDGER]] == ["training", "query", "evaluation"]
        assert other.rows[LEDGER][1].transfers == 3
        assert other.figures.transfers == one.figures.transfers + 3
        assert other.figures.down_bytes == one.figures.down_bytes + 3 * 8
        assert other.rows[LEDGER][2] == one.rows[LEDGER][1]


def test_clients_that_train_twice_are_one_turnout() -> None:
    twice = rounds(Ones(), TWICE, rounds=1, cohort=3)[0].figures
    assert (twice.cohort, twice.trained) == (3, 3)


@dataclass(frozen=True, eq=False)
class Untyped(FedAvg):
    """An algorithm that does not say what its state is."""

    def serving(self, state) -> Serving:  # type: ignore[no-untyped-def]
        return Serving(state.models, state.model_of)


@dataclass(frozen=True)
class Bare:
    """A state of which a checkpoint would not know the numbers."""

    models: np.ndarray
    model_of: Ids


@dataclass(frozen=True, eq=False)
class Forgetful(FedAvg):
    """An algorithm with this state, from the start or from the first round."""

    at_once: bool = True

    def start(self, *given: Any) -> Conversation[Any]:
        state = yield from super().start(*given)
        return Bare(state.models, state.model_of) if self.at_once else state

    def round(self, *given: Any) -> Conversation[Any]:
        state = yield from super().round(*given)
        return Bare(state.models, state.model_of)

    def serving(self, state: Bare) -> Serving:  # type: ignore[override]
        return Serving(state.models, state.model_of)


def test_a_state_that_no_checkpoint_gives_back_is_reported_at_once() -> None:
    """Before the first round, not after the crash."""
    for algorithm, sentence in (
        (Untyped(Local()), r"^Untyped does not name the type of its state: annotate it, as in"),
        (
            Forgetful(Local()),
            r"^The state of Forgetful cannot be read back from a checkpoint: its field 'models' is "
            r"annotated as ndarray and holds an array of float32: annotate it as "
            r"NDArray\[np\.float32\]\.$",
        ),
        (Forgetful(Local(), at_once=False), "holds a Serving: annotate it as Serving"),
    ):
        world = Ones()
        with pytest.raises(SettingsError, match=sentence):
            rounds(world, algorithm, rounds=2, cohort=3)
        assert not world.orders


def test_updates_do_not_outlive_their_round() -> None:
    """Those of founders and cohorts may be most of the memory that there is."""
    updates: list[weakref.ref[Any]] = []

    class Watched(Ones):
        def at(self, number: int) -> Executor:
            plain = super().at(number)

            def executor(order: Order[Any]) -> Any:
                reply = plain(order)
                if isinstance(order, Train):
                    updates.append(weakref.ref(reply.updates))
                return reply

            return executor

    run = train(Parity(), Watched(), zeros, Cohorts(0, THERE, 3), RunSettings(rounds=3))
    for count, done in enumerate(run, start=2):
        gc.collect()
        assert len(updates) == count
        assert [each() for each in updates] == [None] * count
        assert done.serving.models.shape == (2, 2)


@pytest.mark.parametrize("spoilt", [(3, 5), (0, 1)])
def test_a_loss_that_is_no_number_costs_its_client_that_round(spoilt: tuple[int, int]) -> None:
    everybody = Cohorts(0, THERE, CLIENTS)
    run = list(train(Parity(), Ones(spoilt=spoilt), zeros, everybody, RunSettings(rounds=4)))
    counted = [done.figures.rejected_not_finite for done in run]
    assert counted == [int(number == max(spoilt[0], 1)) for number in range(1, 5)]
    trained = [done.figures.trained for done in run]
    assert trained == [CLIENTS - int(number == spoilt[0]) for number in range(1, 5)]
    assert np.isfinite(run[-1].serving.models).all()


def test_the_loop_waits_for_its_consumer() -> None:
    world = Ones()
    run = train(FEDAVG, world, zeros, Cohorts(0, THERE, 2), RunSettings(rounds=100))
    next(run)
    assert {number for number, _ in world.orders} == {1}


def test_a_sample_of_the_clients_tests_the_models_as_far_as_it_is_there_and_placed() -> None:
    given: dict[str, Any] = {"rounds": 4, "cohort": 3, "seed": 4, **TOUR}
    whole, part = (
        rounds(world := Ones(), Parity(), LATER, evaluate_clients=number, **given)
        for number in (None, 4)
    )
    sample = drawn(4, CLIENTS, seed=4)
    assert sample is not None
    assert len(set(sample.tolist())) == 4
    orders = [order for _, order in world.orders if isinstance(order, Evaluate)]
    asked = [order.clients[order.model_of < len(order.models) - 1] for order in orders]
    for each in part:
        placed = np.flatnonzero(each.serving.model_of >= 0)
        there = np.flatnonzero(each.figures.round >= LATER)
        tested = np.intersect1d(np.intersect1d(placed, there), sample)
        assert each.figures.tested == len(tested)
        assert (each.figures.accuracy is not None) == (len(tested) > 0)
        assert any(np.array_equal(clients, tested) for clients in asked)
    assert set(np.concatenate(asked).tolist()) <= set(sample.tolist())
    assert [each.figures.tested for each in whole] == [each.figures.placed for each in whole]
    assert whole[0].figures.accuracy is None  # a client has no group yet
    assert np.array_equal(whole[-1].serving.models, part[-1].serving.models)


def test_rounds_without_evaluation_have_no_testers() -> None:
    done = rounds(Ones(), rounds=3, cohort=2, evaluate_every=2)
    assert [each.figures.tested for each in done] == [0, CLIENTS, CLIENTS]


def test_the_sample_is_drawn_from_the_seed_and_nobody_is_none() -> None:
    assert drawn(None, 100, 0) is None
    one, again, other = (drawn(10, 100, seed) for seed in (0, 0, 1))
    assert one is not None
    assert again is not None
    assert other is not None
    assert one.tolist() == again.tolist() == sorted(set(one.tolist()))
    assert one.tolist() != other.tolist()


def test_it_is_written_down_who_was_missing_and_what_went_over_a_network() -> None:
    @dataclass
    class Lossy(Ones):
        def at(self, number: int) -> Executor:
            inner = super().at(number)

            def executor(order: Any) -> Any:
                reply = inner(order)
                if not isinstance(order, Train):
                    return reply
                heard = of_those(reply, reply.clients != reply.clients[0])
                return Received(heard, traffic=Traffic(2, 10, 20, 11, 22), number_bytes=2)

            return executor

    one, two = rounds(Lossy(), rounds=2, cohort=3)
    cohort = Cohorts(0, THERE, 3).choose(1)
    assert one.rows[MISSING] == (Missing(1, "train", str(cohort[0])),)
    assert one.rows[MESSAGES] == (Messages(1, "train", 2, 10, 20, 11, 22),)
    assert two.rows[MESSAGES] == (Messages(2, "train", 2, 10, 20, 11, 22),)
    assert one.figures.trained == 2
    # The update has two numbers; each was sent as two bytes.
    assert one.figures.up_bytes == 2 * (2 * 2 + 24)
