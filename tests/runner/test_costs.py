"""What the methods cost over a whole run: the factors that the paper quotes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from flexcfl.algorithms import ALGORITHMS
from flexcfl.experiment.experiment import RunSettings
from flexcfl.protocol import Executor, Ids, Local
from flexcfl.protocol.cohorts import Cohorts
from flexcfl.record.tables import LEDGER, MEMBERSHIP, Membership, Round
from flexcfl.runner.loop import train
from flexcfl.testing.parabolas import Parabolas

ROUNDS, COHORT = 300, 20
FEDAVG = 2 * COHORT * ROUNDS
MNIST, FEMNIST = 1000, 200  # clients


@dataclass
class Moving:
    """Clients in closed form; some change their kind before every round."""

    clients: int
    changing: Callable[[int], Ids] = lambda number: np.empty(0, np.int64)
    parabolas: Parabolas = field(init=False)

    def __post_init__(self) -> None:
        self.parabolas = Parabolas(self.clients)

    def at(self, number: int) -> Executor:
        self.parabolas.exchanges.clear()
        changing = self.shifted(number)
        self.parabolas.kinds[changing] = (self.parabolas.kinds[changing] + 1) % 3
        return self.parabolas

    def shifted(self, number: int) -> Ids:
        return self.changing(number)


def course(name: str, world: Moving, rounds: int = ROUNDS, **options: Any) -> list[Round]:
    entry = ALGORITHMS[name]
    algorithm = entry.make(entry.options(**options), Local(rate=0.5))
    settings = RunSettings(rounds=rounds, evaluate_every=rounds)
    arrival = np.zeros(world.clients, dtype=np.int64)
    cohorts = Cohorts(0, arrival, COHORT, "round-robin-then-uniform")
    return list(train(algorithm, world, world.parabolas.initial, cohorts, settings))


def transfers(done: list[Round]) -> int:
    return sum(each.figures.transfers for each in done)


def by_purpose(done: list[Round]) -> dict[str, int]:
    summed: dict[str, int] = {}
    for each in done:
        for entry in each.rows[LEDGER]:
            summed[entry.purpose] = summed.get(entry.purpose, 0) + entry.transfers
    return {purpose: count for purpose, count in summed.items() if count}


def test_flexcfl_on_mnist_costs_1_26_times_fedavg() -> None:
    done = course("flexcfl", Moving(MNIST), groups=3)
    assert by_purpose(done) == {"training": FEDAVG, "cold-start": 60 * 2, "directions": 1000 * 3}
    assert transfers(done) / FEDAVG == pytest.approx(1.26)


def test_inter_group_aggregation_on_femnist_costs_11_4_per_cent_more() -> None:
    plain, sharing = (
        transfers(course("flexcfl", Moving(FEMNIST), groups=5, eta_g=rate)) for rate in (0, 5)
    )
    assert plain == 13_200
    assert sharing - plain == 1_500
    assert sharing / plain - 1 == pytest.approx(0.114, abs=5e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "factor"), [("fedavg", 1), ("fedprox", 1), ("fesem", 1), ("fesem-mig", 1), ("ifca", 2)]
)
def test_what_the_others_cost_on_mnist(name: str, factor: float) -> None:
    options = {"groups": 3} if "-" in name or name in ("fesem", "ifca") else {}
    world = Moving(MNIST, lambda number: np.arange(number % 7, MNIST, 50))
    assert transfers(course(name, world, **options)) == factor * FEDAVG


def test_a_verdict_costs_ifca_mig_all_models_and_flexcfl_none() -> None:
    def visited(number: int) -> Ids:
        return np.arange(10) if number > 52 else np.empty(0, np.int64)

    ifca = course("ifca-mig", Moving(MNIST, visited), rounds=100, groups=3)
    verdicts = 48 * 10
    assert sum(each.figures.detected for each in ifca) == verdicts
    assert sum(each.figures.placed_again for each in ifca) == verdicts
    assert transfers(ifca) == 100 * COHORT * 4 + verdicts * 3
    worlds = Moving(MNIST), Moving(MNIST, visited)
    still, moving = (course("flexcfl", world, 100, groups=3) for world in worlds)
    assert transfers(still) == transfers(moving)
    figures = [each.figures for each in moving]
    assert sum(each.detected for each in figures) == verdicts
    assert [each.shifted for each in figures] == 52 * [0] + 48 * [10]


def test_migrations_are_counted_and_memberships_can_be_followed() -> None:
    done = course("flexcfl", Moving(60, lambda number: np.array([number % 3])), 30, groups=3)
    group_of: dict[int, int | None] = {}
    for each in done:
        lines: tuple[Membership, ...] = tuple(each.rows[MEMBERSHIP])
        group_of |= {line.client: line.group for line in lines if line.round == 0}
        known = dict(group_of)
        assert all(line.round in (each.figures.round, 0) for line in lines)
        group_of |= {line.client: line.group for line in lines}
        moved = [line for line in lines if line.round and line.client in known]
        assert len(moved) == each.figures.migrated <= each.figures.placed_again
        serving = each.serving.model_of
        assert group_of == {client: serving[client] for client in np.flatnonzero(serving >= 0)}
    assert sum(each.figures.migrated for each in done) > 20


def test_the_ledger_of_a_round_is_its_figures_plus_evaluation() -> None:
    for each in course("flexcfl", Moving(60), 3, groups=3):
        counted = [entry for entry in each.rows[LEDGER] if entry.purpose != "evaluation"]
        assert sum(entry.transfers for entry in counted) == each.figures.transfers
        assert sum(entry.down_bytes for entry in counted) == each.figures.down_bytes
        assert sum(entry.up_bytes for entry in counted) == each.figures.up_bytes
        evaluated = any(entry.purpose == "evaluation" for entry in each.rows[LEDGER])
        assert evaluated == (each.figures.round == 3)


def test_who_is_placed_for_other_reasons_than_drift_is_not_placed_again() -> None:
    for name in ("fesem-mig", "flexcfl-rac", "flexcfl", "ifca-mig"):
        options = {"groups": 3} | ({"alpha": 4} if "flex" in name else {})
        still = course(name, Moving(60), 8, **options)
        assert [each.figures.placed_again for each in still] == [0] * 8, name
        moving = course(name, Moving(60, lambda number: np.arange(5) * (number > 4)), 8, **options)
        told = [(each.figures.detected, each.figures.placed_again) for each in moving]
        assert told[4:] == [(5, 5)] * 4 or name == "flexcfl-rac", (name, told)
        assert all(detected == again for detected, again in told), (name, told)


def test_groups_that_did_not_train_or_are_alone_hand_nothing_on() -> None:
    class Silent(Moving):
        def at(self, number: int) -> Executor:
            executor = super().at(number)
            self.parabolas.silent = frozenset(range(60)) if number == 2 else frozenset()
            return executor

    done = course("flexcfl", Silent(60), 3, groups=3, alpha=4, eta_g=0.1)
    entries = [
        entry for each in done for entry in each.rows[LEDGER] if entry.purpose == "inter-group"
    ]
    assert [(entry.round, entry.transfers) for entry in entries] == [(1, 3), (3, 3)]
    alone = course("flexcfl", Moving(60), 2, groups=1, alpha=4, eta_g=0.1)
    assert "inter-group" not in by_purpose(alone)
