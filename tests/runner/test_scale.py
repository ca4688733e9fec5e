"""What a round costs must not grow with clients that have nothing to do in it.

Bytes and calls are counted instead of seconds, which differ from machine to machine.
"""

import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import flexcfl
from flexcfl.data import Federation, MadeLists
from flexcfl.errors import SettingsError
from flexcfl.experiment.layers import options_layer
from flexcfl.experiment.objects import UserObjects
from flexcfl.experiment.resolve import resolve
from flexcfl.protocol import Ids
from flexcfl.record.tables import Round
from flexcfl.runner.loop import train
from flexcfl.runner.prepare import prepare
from flexcfl.shifts.detection import Watch
from flexcfl.simulation import Simulation

FEW, MANY = 1000, 100_000
COHORT, ROUNDS = 20, 12
POOL, CLASSES = 500, 10
GIVEN: dict[str, Any] = {"algorithm": "flexcfl", "model": "mclr", "groups": 3, "epochs": 1}
GIVEN |= {"shift": "swap-part", "rounds": ROUNDS, "cohort": COHORT}
SET = {"run.evaluate_clients": 50, "shift.probability": 0.4, "algorithm.alpha": 5}


def federation(clients: int, asked: list[int] | None = None) -> Federation:
    """Return clients of two neighbouring classes each, made on demand."""

    def make(own: Ids) -> Ids:
        if asked is not None:
            asked.extend(own.tolist())
        return (own[:, np.newaxis] % CLASSES + np.arange(0, 60, 6) % 100 * 5).ravel() % POOL

    x = np.random.default_rng(0).normal(size=(POOL, 4)).astype(np.float32)
    lists = MadeLists.of(make, np.full(clients, 10), POOL)
    y = (np.arange(POOL) % CLASSES + np.arange(POOL) // 250) % CLASSES
    return Federation("made", x, y, lists, lists, CLASSES)


def course(data: Federation) -> tuple[Watch, Iterator[Round]]:
    own = UserObjects(data, None, None, None)
    policy = {"run.cohorts": "round-robin-then-uniform"}
    layer = options_layer({**GIVEN, "dataset": "made"}, {**SET, **policy})
    prepared = prepare(resolve([layer], own).experiment, own)
    experiment = prepared.experiment
    watch = Watch(experiment.drift.options, data.clients)
    world = Simulation(prepared.engine, prepared.timeline, 0, watch)
    talk = (prepared.algorithm, world, prepared.engine.initial, prepared.cohorts, experiment.run)
    return watch, train(*talk)


@pytest.fixture(scope="module", autouse=True)
def _everything_is_imported() -> None:
    list(course(federation(100))[1])


def bytes_used(clients: int) -> tuple[int, int]:
    """Return the most bytes in use during a run, and beyond what there was in its last round."""
    tracemalloc.start()
    try:
        rounds = course(federation(clients))[1]
        for _ in range(ROUNDS - 1):
            next(rounds)
        before, peak = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        next(rounds)
        last = tracemalloc.get_traced_memory()[1]
        return max(peak, last), last - before
    finally:
        tracemalloc.stop()


def test_an_idle_client_takes_few_bytes_and_a_round_fewer() -> None:
    (few, few_last), (many, many_last) = bytes_used(FEW), bytes_used(MANY)
    assert (many - few) / (MANY - FEW) <= 100
    assert (many_last - few_last) / (MANY - FEW) <= 30


def calls(clients: int) -> int:
    """Return how many functions are called in some rounds."""
    rounds = course(federation(clients))[1]
    next(rounds)
    counted = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        list(rounds)
    finally:
        sys.setprofile(before)
    return counted


def test_a_round_makes_as_many_calls_however_many_clients_there_are() -> None:
    assert calls(MANY) < 1.15 * calls(FEW)


def test_only_the_data_of_clients_with_work_are_looked_at() -> None:
    asked: list[int] = []
    watch, rounds = course(federation(MANY, asked))
    asked.clear()
    figures = [done.figures for done in rounds]
    assert sum(each.migrated for each in figures) > 5
    founders, sample = 15, 50
    assert len(set(asked)) <= COHORT * ROUNDS + founders + sample
    assert len(watch.kept) < 2 * (COHORT * ROUNDS + founders)


def test_clients_made_on_demand_train_as_those_whose_lists_are_stored() -> None:
    made = federation(60)
    training, test = (lists.gathered(np.arange(60)) for lists in (made.train, made.test))
    stored = Federation("made", made.x, made.y, training, test, CLASSES)
    one, other = (flexcfl.run(dataset=each, set={**SET}, **GIVEN) for each in (made, stored))
    assert np.array_equal(one.models, other.models)
    for name, column in one.rounds.items():
        np.testing.assert_array_equal(column, other.rounds[name])
    assert one.rounds["shifted"].sum() > 50
    assert one.shifts["clients"].tolist() == other.shifts["clients"].tolist()


def test_nobody_is_made_to_have_labels_counted(tmp_path: Path) -> None:
    run = flexcfl.run(dataset=federation(60), set=SET, out=tmp_path / "run", **GIVEN)
    assert not any(len(column) for column in run.labels.values())
    assert not (tmp_path / "run" / "labels.csv").exists()
    assert (tmp_path / "run" / "shifts.csv").exists()


def test_the_federation_that_the_page_shows_works() -> None:
    page = (Path(__file__).parents[2] / "docs" / "scale.md").read_text("utf-8")
    names: dict[str, Any] = {"__name__": "page"}
    exec(page.split("```python")[1].split("```")[0], names)
    assert names["run"].summary["clients"] == 100_000
    assert names["run"].rounds["placed"][-1] > 150


def test_a_sample_larger_than_the_federation_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"evaluate_clients is 50, more than the 40 clients"):
        flexcfl.run(dataset=federation(40), set=SET, **GIVEN)


@pytest.mark.parametrize("number", [0, -1, 1.5, "all"])
def test_a_sample_is_a_number_of_clients(number: object) -> None:
    with pytest.raises(SettingsError, match=r"^\[run\] evaluate_clients must be "):
        flexcfl.run(dataset=federation(40), set={"run.evaluate_clients": number}, **GIVEN)


def test_the_size_of_a_sample_is_written_down() -> None:
    run = flexcfl.run(dataset=federation(60), set=SET, **GIVEN)
    assert run.experiment.tables()["run"]["evaluate_clients"] == 50
    assert 0 < run.rounds["tested"][-1] <= 50
    everybody = flexcfl.run(dataset=federation(60), **GIVEN)
    assert "evaluate_clients" not in everybody.experiment.tables()["run"]
