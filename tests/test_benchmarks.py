"""The benchmarks run, on federations small enough not to measure anything."""

import re
from collections.abc import Callable
from typing import Any

import clustering
import decompositions
import numpy as np
import pytest
import scale
from newcomers import Continuing
from numpy.typing import NDArray

from flexcfl.algorithms.flexcfl import FlexCFL
from flexcfl.clustering.measures import between, edc, gram
from flexcfl.experiment.layers import SettingsLayer
from flexcfl.experiment.resolve import resolve
from flexcfl.protocol import Ids, Order, Place, drive
from flexcfl.runner.prepare import prepare
from flexcfl.simulation import Simulation


def test_federations_of_all_sizes_take_turns_and_every_part_is_timed() -> None:
    watches = scale.compare([(60, 5), (600, 5)], rounds=4)
    for watch in watches:
        assert all(len(seconds) == 4 for seconds in watch.seconds.values())
        assert watch.seconds.keys() == {*scale.PARTS, "all", "round", "rest"}
        assert 0 < watch.milliseconds("training") < watch.milliseconds("round")


def test_the_run_of_many_clients_says_what_came_of_it() -> None:
    told = scale.million(clients=200, cohort=40, rounds=5)
    assert re.search(r"200 clients, 40 a round, 5 rounds: \d+\.\d s", told)
    assert re.search(r"200 were placed, .* accuracy \d+\.\d% over 200 that have a group", told)


def test_a_check_of_everybody_and_the_bytes_of_clients_are_measured() -> None:
    assert scale.checked(clients=300, rounds=2) > 0
    assert scale.memory(400, cohort=5, rounds=2) > 400 * 8


def test_clients_made_on_demand_have_examples_of_two_classes() -> None:
    many = scale.federation(50)
    for client, own in enumerate(many.train):
        assert set(many.y[own].tolist()) == {client % 10, (client + 1) % 10}
    assert len(np.unique(many.train.indices)) > 450


@pytest.mark.parametrize("by", ["exact", "randomized", "lanczos"])
def test_founders_are_as_far_apart_by_each_decomposition_as_by_all_pairs(by: str) -> None:
    updates = clustering.drawn(60, 400)
    points: Callable[..., NDArray[Any]] = getattr(decompositions, f"by_{by}")
    apart = between(points(updates, clustering.GROUPS).astype(np.float64))
    ours = between(edc(gram(updates), clustering.GROUPS))
    np.testing.assert_allclose(apart, ours, atol=1e-5)


def test_every_step_of_comparing_founders_is_timed_and_its_work_is_known() -> None:
    times = clustering.measured(20, 400, rounds=2)
    assert times.keys() == clustering.STEPS.keys()
    work = clustering.work(20, 400)
    assert work.keys() == times.keys() - {"K-means", "linkage"}
    assert work["all pairs"] == 210 * 400
    assert work["MADC of them"] == 210 * 20


def round_of(**changes: Any) -> tuple[list[Any], Any, Ids]:
    """Return a round's orders, the state after it, and which of its six clients were new."""
    said = {"data.name": "clusters", "algorithm.name": "flexcfl"}
    prepared, orders = prepare(resolve([SettingsLayer("given", said)]).experiment), []
    ours: Any = prepared.algorithm
    kind = Continuing if changes else FlexCFL
    algorithm = kind(ours.local, ours.options, migrates=False, **changes)
    simulation = Simulation(prepared.engine, prepared.timeline, seed=0)
    present, rng = np.ones(prepared.federation.clients, dtype=np.bool_), np.random.default_rng(0)
    state = drive(algorithm.start(prepared.engine.initial, present, rng), simulation.at(0))
    old, new = (np.flatnonzero(flags)[:3] for flags in (state.group_of >= 0, state.group_of < 0))
    executor = simulation.at(1)

    def noted(order: Order[Any]) -> Any:
        orders.append(order)
        return executor(order)

    cohort = np.sort(np.append(old, new))
    return orders, drive(algorithm.round(state, cohort, present, rng), noted), new


def test_newcomers_that_train_all_epochs_end_as_ours_though_asked_apart() -> None:
    (ours, one, _), (theirs, other, _) = round_of(), round_of(fewer=0)
    assert (len(ours), len(theirs)) == (2, 3)
    np.testing.assert_array_equal(one.models, other.models)


@pytest.mark.parametrize("begin", ["group", "own"])
def test_newcomers_train_an_epoch_less_and_nobody_else_does(begin: str) -> None:
    (place, *again, short, whole), after, new = round_of(begin=begin)
    assert isinstance(place, Place)
    assert [order.purpose for order in again] == ["cold-start"] * (begin == "own")
    assert (short.local.epochs, whole.local.epochs) == (9, 10)
    assert short.clients.tolist() == new.tolist()
    assert not set(whole.clients.tolist()) & set(new.tolist())
    assert len(short.models) == len(new if begin == "own" else after.models)
