"""The loop over rounds."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from flexcfl import cohorts
from flexcfl.algorithms import FedAvg
from flexcfl.errors import TrainingError
from flexcfl.protocol import Evaluate, Evaluated, Executor, Local, Order, Train, Trained, Vector
from flexcfl.runner.experiment import RunSettings
from flexcfl.runner.loop import Round, train

CLIENTS = 8


@dataclass
class Ones:
    """Every client adds one to every parameter; client c has c + 1 examples and loss c."""

    spoilt: tuple[int, int] | None = None  # a round and a client with a NaN loss
    orders: list[tuple[int, Order[Any]]] = field(default_factory=list)

    def at(self, number: int) -> Executor:
        def executor(order: Order[Any]) -> Any:
            self.orders.append((number, order))
            if isinstance(order, Evaluate):
                count = len(order.clients)
                hits = np.full(count, number)
                return Evaluated(order.clients, np.zeros(count), hits, np.full(count, 100))
            assert isinstance(order, Train)
            updates = np.ones((len(order.clients), 2), np.float32)
            loss = order.clients.astype(float)
            if self.spoilt and number == self.spoilt[0]:
                loss[order.clients == self.spoilt[1]] = np.nan
            return Trained(order.clients, updates, order.clients + 1, loss)

        return executor


def initial(rng: np.random.Generator) -> Vector:
    return rng.normal(size=2).astype(np.float32)


def rounds(world: Ones, **settings: Any) -> list[Round]:
    method = FedAvg(Local())
    return list(train(method, world, initial, CLIENTS, RunSettings(**settings)))


def test_rounds_are_counted_from_one_and_carry_the_state_on() -> None:
    done = rounds(Ones(), rounds=4, cohort=3)
    assert [each.figures.round for each in done] == [1, 2, 3, 4]
    steps = [each.serving.models - done[0].serving.models for each in done]
    np.testing.assert_allclose([step.max() for step in steps], [0, 1, 2, 3], atol=1e-5)


def test_figures_of_a_round() -> None:
    cohort = cohorts.choose("uniform", seed=0, number=1, clients=CLIENTS, size=3)
    figures = rounds(Ones(), rounds=1, cohort=3)[0].figures
    assert figures.accuracy == 0.01
    assert figures.loss == pytest.approx(np.average(cohort, weights=cohort + 1))
    assert figures.discrepancy == pytest.approx(0, abs=1e-6)
    assert figures.cohort == 3
    assert (figures.down_bytes, figures.up_bytes) == (3 * 8, 3 * (8 + 16))


def test_the_experiments_cohorts_are_asked() -> None:
    world = Ones()
    rounds(world, rounds=5, cohort=3, seed=9, cohorts="round-robin-then-uniform")
    asked = [order.clients.tolist() for _, order in world.orders if isinstance(order, Train)]
    expected = [
        cohorts.choose(
            "round-robin-then-uniform", seed=9, number=number, clients=CLIENTS, size=3
        ).tolist()
        for number in range(1, 6)
    ]
    assert asked == expected


def test_all_clients_are_evaluated_after_every_nth_round_and_the_last() -> None:
    world = Ones()
    done = rounds(world, rounds=5, cohort=2, evaluate_every=2)
    assert [each.figures.accuracy for each in done] == [None, 0.02, None, 0.04, 0.05]
    evaluations = [order for _, order in world.orders if isinstance(order, Evaluate)]
    assert len(evaluations) == 3
    for order in evaluations:
        assert order.clients.tolist() == list(range(CLIENTS))
        assert order.split == "test"


def test_evaluation_is_no_traffic_and_takes_its_own_time() -> None:
    every, never = (rounds(Ones(), rounds=2, cohort=2, evaluate_every=n) for n in (1, 2))
    assert every[0].figures.down_bytes == never[0].figures.down_bytes
    assert all(each.timing.training > 0 for each in every)
    assert [each.timing.round for each in every] == [1, 2]


def test_a_loss_that_is_no_number_ends_the_run_by_name() -> None:
    settings = RunSettings(rounds=9, cohort=CLIENTS)
    run = train(FedAvg(Local()), Ones(spoilt=(3, 5)), initial, CLIENTS, settings)
    assert [next(run).figures.round for _ in range(2)] == [1, 2]
    with pytest.raises(TrainingError, match=r"client 5 .* in round 3"):
        next(run)


def test_the_loop_waits_for_whoever_iterates() -> None:
    world = Ones()
    run = train(FedAvg(Local()), world, initial, CLIENTS, RunSettings(rounds=100, cohort=2))
    next(run)
    assert {number for number, _ in world.orders} == {1}
