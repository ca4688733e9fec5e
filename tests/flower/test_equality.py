"""The same experiment and seed give the same run on nodes as in one process, number by number."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flexcfl.algorithms import ALGORITHMS
from flexcfl.flower.messages import read_order
from flexcfl.protocol import Train
from flexcfl.protocol.cohorts import Cohorts
from flexcfl.runner.result import Run
from flexcfl.shifts import SHIFTS
from flexcfl.trust.faults import ATTACKS
from tests.flower import phases
from tests.flower.inprocess import (
    SMALL,
    SWAPS,
    InProcessGrid,
    Nodes,
    served,
    shards,
    simulated,
    slow_but,
)

FLEXCFL: Mapping[str, object] = {
    "algorithm.name": "flexcfl",
    "algorithm.groups": 3,
    "algorithm.alpha": 5,
}
FOUNDING = ("fedgroup", "flexcfl", "flexcfl-rac")
FEW: Mapping[str, object] = {**FLEXCFL, "data.clients": 12, "run.cohort": 6, "run.rounds": 2}
SHIFTING: Mapping[str, Mapping[str, object]] = {
    **{name: {"shift.probability": 0.5} for name in SHIFTS},
    "incremental": {
        "shift.schedule": "[{round = 0, share = 0.3}, {round = 2, share = 1.0}]",
    },
}
IMAGES: Mapping[str, object] = {
    "data.name": "digits",
    "data.clients": 12,
    "run.cohort": 6,
    "run.rounds": 2,
    "local.epochs": 1,
}


def check_same(one: Run, other: Run, tolerance: float = 0.0) -> None:
    """Demand everything of two runs to be equal but what only the simulator can know."""
    np.testing.assert_array_equal(one.group_of, other.group_of)
    for model, twin in zip(one.models, other.models, strict=True):
        np.testing.assert_allclose(model, twin, rtol=0, atol=tolerance)
    for table in ("groups", "ledger", "membership", "rounds"):
        check_columns(getattr(one, table), getattr(other, table))
    assert (one.clustering is None) == (other.clustering is None)
    assert one.waiting == other.waiting
    if one.clustering is not None and other.clustering is not None:
        np.testing.assert_array_equal(one.clustering.group_of, other.clustering.group_of)
        np.testing.assert_array_equal(one.clustering.embedding, other.clustering.embedding)


def check_columns(one: Mapping[str, Any], other: Mapping[str, Any]) -> None:
    assert one.keys() == other.keys()
    for name in one.keys() - {"shifted"}:
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)


def check_equal(
    folder: Path,
    settings: Mapping[str, object],
    *,
    nodes: Nodes | None = None,
    small: Mapping[str, object] = SMALL,
) -> tuple[Run, Run]:
    """Return a run on nodes and the one of the simulator, once they are found to be the same."""
    nodes = nodes or shards(3, folder / "memory")
    grid = InProcessGrid(nodes, listening=False)
    run = served(grid, settings, folder / "run", nodes=len(nodes), small=small)
    simulator = simulated(settings, small=small)
    check_same(run, simulator)
    return run, simulator


@pytest.mark.parametrize("name", slow_but(("fesem-mig", "flexcfl"), sorted(ALGORITHMS)))
def test_every_algorithm_under_a_shift(name: str, tmp_path: Path) -> None:
    founding = FLEXCFL if name in FOUNDING else {}
    run, _ = check_equal(tmp_path, {**SWAPS, **founding, "algorithm.name": name})
    assert np.isnan(run.rounds["shifted"]).all()  # whose data changed only clients know
    assert run.summary["shifted"] is None
    if name in ("flexcfl", "ifca-mig"):
        assert run.summary["migrations"] > 0


@pytest.mark.parametrize("shift", slow_but(("rotation", "swap-part"), sorted(SHIFTS)))
def test_every_shift(shift: str, tmp_path: Path) -> None:
    """Each node derives from seed and round what happens to its clients."""
    images = shift == "rotation"
    settings = {**(FLEXCFL if images else FEW), **SHIFTING[shift], "shift.name": shift}
    small = IMAGES if images else SMALL
    check_equal(tmp_path, settings, nodes=shards(2, tmp_path / "memory"), small=small)


@pytest.mark.slow
def test_code_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A detector, a shift, a partition and a network that nodes were told of."""
    monkeypatch.chdir(Path(__file__).parents[2] / "examples")
    own: Mapping[str, object] = {
        "drift.name": "chi_square:ChiSquare",
        "shift.name": "carousel:Carousel",
        "shift.period": 1,
        "data.partition": "shards:Shards",
        "data.options": "{each = 3}",
        "model.name": "gru:Reader",
    }
    code = ",".join(str(value) for value in own.values() if ":" in str(value))
    nodes = shards(2, tmp_path / "memory", code=code)
    run, _ = check_equal(tmp_path, {**FLEXCFL, **own}, nodes=nodes, small=IMAGES)
    assert run.summary["detected"] > 0


def test_an_algorithm_with_two_phases(tmp_path: Path) -> None:
    """Orders of a round draw their own, models that diverge fit nobody, what is asked is charged.

    The algorithm demands that of each round, with faults among its clients.
    """
    phases.GAPS.clear()
    name = "tests.flower.phases:entry"
    own = {"algorithm.name": name, "faults.dropout": 0.2, "faults.nan": 0.1}
    run, _ = check_equal(
        tmp_path, {**SWAPS, **own}, nodes=shards(3, tmp_path / "memory", code=name)
    )
    rounds = 2 * len(run.rounds["round"])  # on nodes and in one process
    assert len(phases.GAPS) == rounds
    assert min(phases.GAPS) > 0
    query = run.ledger["transfers"][run.ledger["purpose"] == "query"]
    assert query.tolist() == run.rounds["trained"].tolist()


def test_the_same_cohorts(tmp_path: Path) -> None:
    grid = InProcessGrid(shards(2, tmp_path / "memory"))
    run = served(grid, {"algorithm.name": "fedavg", "run.seed": 3}, tmp_path / "run", nodes=2)
    asked: dict[int, list[int]] = {}
    for message in grid.sent("train"):
        heading, order = read_order(message.content)
        assert isinstance(order, Train)
        asked.setdefault(heading.round, []).extend(order.clients.tolist())
    cohorts = Cohorts(3, np.zeros(40, dtype=np.int64), 10)
    assert {number: sorted(own) for number, own in asked.items()} == {
        number: cohorts.choose(number).tolist() for number in run.rounds["round"].tolist()
    }


def test_clients_that_arrive_later(tmp_path: Path) -> None:
    arrivals = "[{round = 2, share = 0.3}, {round = 3, share = 0.2}]"
    tour = {"run.cohorts": "round-robin-then-uniform"}
    run, _ = check_equal(tmp_path, {**SWAPS, **FLEXCFL, **tour, "data.arrivals": arrivals})
    assert run.summary["newcomers"] is not None


FAULTS: Mapping[str, object] = {
    "faults.dropout": 0.1,
    "faults.midway": 0.1,
    "faults.slowness": 1.0,
    "faults.nan": 0.1,
    "faults.infinite": 0.1,
    "faults.huge": 0.1,
    "faults.misshapen": 0.1,
    "faults.stale": 0.1,
}


def test_clients_that_fail(tmp_path: Path) -> None:
    """Also the columns of what guards have turned away are the same."""
    run, _ = check_equal(tmp_path, {**SWAPS, **FLEXCFL, **FAULTS, "run.cohort": 25})
    reasons = ("late", "stale", "shape", "not_finite", "norm")
    assert {reason for reason in reasons if run.rounds[f"rejected_{reason}"].any()} == set(reasons)


@pytest.mark.parametrize("attack", slow_but(("label-flip",), sorted(ATTACKS)))
def test_clients_that_attack(attack: str, tmp_path: Path) -> None:
    """Attackers of a node know nothing of those of others.

    So where ``drag`` is to found groups, those of each node agree on an update of their own; here
    groups are not founded on updates.
    """
    settings = {**SWAPS, "algorithm.name": "ifca-mig", "attack.name": attack}
    check_equal(tmp_path, settings, nodes=shards(2, tmp_path / "memory"))


@pytest.mark.parametrize("level", slow_but(["group"], ["client", "group"]))
def test_privacy(level: str, tmp_path: Path) -> None:
    pytest.importorskip("dp_accounting")
    run, simulator = check_equal(tmp_path, {**SWAPS, **FLEXCFL, "privacy.level": level})
    assert run.summary["privacy"] == simulator.summary["privacy"]


def test_one_client_on_each_node(tmp_path: Path) -> None:
    check_equal(tmp_path, {**SWAPS, **FEW}, nodes=shards(12, tmp_path / "memory"))


def test_very_unequal_shards(tmp_path: Path) -> None:
    shares = ("0", "1,3 7-9", "2 4-6 10-39")
    nodes: Nodes = {
        node: {"clients": own, "memory": str(tmp_path)} for node, own in enumerate(shares, 1)
    }
    check_equal(tmp_path, {**SWAPS, **FLEXCFL}, nodes=nodes)


def test_a_sample_that_evaluates(tmp_path: Path) -> None:
    """FlexCFL has an auxiliary model, which everybody of the sample measures beside its own."""
    run, _ = check_equal(tmp_path, {**SWAPS, **FLEXCFL, "run.evaluate_clients": 15})
    assert run.auxiliary is not None
    assert np.isfinite(run.rounds["auxiliary_accuracy"]).all()


def test_updates_of_half_the_bytes(tmp_path: Path) -> None:
    """They are as good as float16 is, and the ledger knows what they save."""
    half = {**SWAPS, "algorithm.name": "fedavg", "network.updates": "float16"}
    grid = InProcessGrid(shards(2, tmp_path / "memory"), listening=False)
    run, whole = served(grid, half, tmp_path / "run", nodes=2), simulated(half)
    np.testing.assert_array_equal(run.group_of, whole.group_of)
    np.testing.assert_allclose(run.models[0], whole.models[0], rtol=0, atol=2e-3)
    assert (run.models[0] != whole.models[0]).any()
    trained, parameters = int(run.rounds["trained"].sum()), run.summary["parameters"]
    assert run.rounds["up_bytes"].sum() == trained * (2 * parameters + 3 * 8)
    assert whole.rounds["up_bytes"].sum() == trained * (4 * parameters + 3 * 8)
    assert run.rounds["down_bytes"].tolist() == whole.rounds["down_bytes"].tolist()
