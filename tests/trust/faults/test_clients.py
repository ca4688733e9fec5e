"""Faults and attacks among simulated clients: who did the work, and who never heard of it."""

from typing import Any

import numpy as np
import pytest
from torch import nn

from flexcfl.data import Federation, IndexLists
from flexcfl.engine import Engine
from flexcfl.protocol import LOWEST_LOSS, Ids, Keep, Local, Migrate, Place, Received, Train
from flexcfl.shifts import Timeline
from flexcfl.shifts.detection import LabelShare, Watch
from flexcfl.simulation import Simulation
from flexcfl.trust.faults import Faults, SignFlip
from tests.record.checkpoints.interrupted import check_values
from tests.trust.faults.honest import behaviour

CLIENTS, FEATURES, CLASSES = 12, 3, 2
EVERYBODY, LOCAL = np.arange(CLIENTS), Local(epochs=1, batch=4, rate=0.1)


@pytest.fixture(scope="module")
def federation() -> Federation:
    rng = np.random.default_rng(0)
    rows = np.split(rng.permutation(6 * CLIENTS), CLIENTS)
    x = rng.normal(size=(6 * CLIENTS, FEATURES)).astype(np.float32)
    lists = IndexLists.of(rows)
    return Federation("small", x, rng.integers(CLASSES, size=len(x)), lists, lists, CLASSES)


@pytest.fixture(scope="module")
def engine(federation: Federation) -> Engine:
    made = nn.Linear(FEATURES, CLASSES)
    return Engine(lambda: nn.Sequential(made), federation.x, federation.y, CLASSES)


@pytest.fixture(scope="module")
def models(engine: Engine) -> np.ndarray:
    return np.stack([engine.initial(np.random.default_rng(seed)) for seed in (0, 1)])


@pytest.fixture
def world(engine: Engine, federation: Federation) -> Simulation:
    return Simulation(engine, Timeline(federation), 7, watch=Watch(LabelShare(), CLIENTS))


def keepers(world: Simulation) -> list[int]:
    return sorted(world.keepsakes.kept)


def of(flags: np.ndarray | None) -> Ids:
    assert flags is not None
    assert 0 < flags.sum() < CLIENTS
    return np.flatnonzero(flags)


def test_who_is_away_keeps_nothing_and_who_vanishes_or_is_late_does(
    world: Simulation, models: np.ndarray
) -> None:
    faults = Faults(dropout=0.3, midway=0.3, slowness=1.0, time_budget=1.0)
    bad = behaviour(faults, clients=CLIENTS, seed=7)
    got: Any = bad.at(1, world.at(1))(Place(EVERYBODY, models[0], models, LOCAL))
    there = np.setdiff1d(EVERYBODY, of(bad.absence.away(1)))
    assert keepers(world) == there.tolist()
    left = np.setdiff1d(there, of(bad.absence.vanishing(1)))
    assert got.late == np.isin(left, of(bad.absence.late(1))).sum() > 0
    heard = np.setdiff1d(left, of(bad.absence.late(1)))
    assert got.reply.clients.tolist() == heard.tolist()
    assert world.watch is not None
    assert np.flatnonzero(world.watch.row_of >= 0).tolist() == there.tolist()


def test_orders_that_reach_nobody_leave_no_trace(world: Simulation, models: np.ndarray) -> None:
    executor = behaviour(Faults(dropout=1.0), clients=CLIENTS, seed=7).at(1, world.at(1))
    orders = (
        Place(EVERYBODY, models[0], models, LOCAL),
        Keep(EVERYBODY, models[0], models),
        Migrate(EVERYBODY, LOCAL, 2),
        Train(EVERYBODY, models, LOWEST_LOSS, LOCAL),
    )
    for order in orders:
        got: Any = executor(order)
        assert len(got.reply.clients) == 0
    assert got.reply.updates.shape == (0, models.shape[1])
    assert not world.keepsakes.sent
    assert not keepers(world)


def test_attackers_and_stale_clients_train_as_all_others_do(
    world: Simulation, models: np.ndarray
) -> None:
    attack = SignFlip(clients=3, scale=2.0)
    bad = behaviour(Faults(stale=0.25, nan=0.25), attack, CLIENTS, seed=7)
    orders = [Train(EVERYBODY, models, EVERYBODY % 2, LOCAL) for _ in range(2)]
    honest = [world.at(number)(order) for number, order in enumerate(orders, start=1)]
    _, got = (bad.at(number, world.at(number))(order) for number, order in enumerate(orders, 1))
    assert isinstance(got, Received)
    stale, own = np.flatnonzero(bad.roles.kind_of == 4), np.flatnonzero(bad.roles.hostile)
    assert (len(stale), len(own)) == (3, 3)
    np.testing.assert_array_equal(got.reply.updates[stale], honest[0].updates[stale])
    np.testing.assert_array_equal(got.reply.updates[own], -2 * honest[1].updates[own])
    assert np.isnan(got.reply.updates).sum() == 3
    rest = np.setdiff1d(EVERYBODY, np.concatenate([stale, own]))
    check_values(got.reply.loss[rest], honest[1].loss[rest])
