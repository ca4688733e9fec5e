"""The benchmark measures, on a federation small enough not to measure anything."""

import platform
import re

import numpy as np
import pytest
import torch
from rich.console import Console
from torch import nn

from flexcfl.benchmark import WORKS, StepTimes, Workload, alternate, machine, measure, sgemm_rate
from flexcfl.benchmark.full_run import full_run
from flexcfl.benchmark.machine import peak_memory
from flexcfl.benchmark.measure import markdown, table
from flexcfl.benchmark.work import LOCAL, engine_round, make_round, multiply_adds, noise, plain_loop
from flexcfl.data import Federation, IndexLists
from flexcfl.engine import Engine
from flexcfl.models import build

MEASURED = StepTimes(WORKS["W1"], "compiled", 1300, plain=400.0, ours=4.0, limit=2.0)


@pytest.fixture
def federation() -> Federation:
    rng = np.random.default_rng(0)
    lists = IndexLists.of([np.array([client, client + 1]) for client in range(25)])
    x = rng.normal(size=(30, 1, 28, 28)).astype(np.float32)
    return Federation("mnist", x, rng.integers(10, size=30), lists, lists, 10)


@pytest.mark.parametrize("name", ["W1", "W2"])
def test_a_work_is_measured_beside_the_plain_loop(name: str, federation: Federation) -> None:
    told: list[None] = []
    found = measure(WORKS[name], federation, 2, lambda: told.append(None))
    assert found.path == "compiled"
    assert found.steps == 2 * 20 * LOCAL.epochs
    assert len(told) == 2 * (2 + 1)
    assert min(found.plain, found.ours, found.limit) > 0
    assert found.speedup == found.plain / found.ours


def test_both_train_the_same_clients_on_the_same_batches(federation: Federation) -> None:
    engine = Engine(
        lambda: build("mnist", "mclr", federation.shape, 10), federation.x, federation.y, 10
    )
    start = engine.initial(np.random.default_rng(0))
    work = make_round(federation, 3, 1)
    module = engine.module(start)
    named = {name: torch.from_numpy(value) for name, value in engine.unflatten(start).items()}
    pool = torch.from_numpy(federation.x), torch.from_numpy(federation.y)
    plain_loop(module, *pool, named, work)
    trained = torch.cat([part.detach().flatten() for part in module.parameters()]).numpy()
    update = engine_round(engine, federation, start, work)[0]
    np.testing.assert_allclose(start + update, trained, atol=1e-5)


def test_contestants_take_turns_on_the_same_work() -> None:
    calls: list[tuple[str, int]] = []
    contestants = {name: lambda work, name=name: calls.append((name, work)) for name in "ab"}
    medians = alternate(contestants, [1, 2], units=lambda work: work)
    warm_up, rest = calls[:2], calls[2:]
    assert warm_up == [("a", 1), ("b", 1)]
    assert rest == [("a", 1), ("b", 1), ("a", 2), ("b", 2)]
    assert medians.keys() == {"a", "b"}


def test_multiply_adds_are_those_of_forward_and_backward() -> None:
    module = nn.Sequential(nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
    x, y = torch.zeros(10, 1, 28, 28), torch.zeros(10, dtype=torch.int64)
    first, second = 784 * 128, 128 * 10
    assert multiply_adds(module, x, y) == 10 * (2 * first + 3 * second)
    assert sgemm_rate(size=64, repeats=2) > 0


def test_tables_say_how_many_times_as_fast() -> None:
    line = re.escape("| logistic regression | 400 | 4.0 | 100.0 | 2.0 | 2.0 | compiled |")
    assert re.search(line, markdown([MEASURED]))
    console = Console(width=120)
    with console.capture() as captured:
        console.print(table([MEASURED]))
    assert re.search(
        r"logistic regression +400 +4\.0 +100\.0 +2\.0 +2\.0 +compiled", captured.get()
    )


def test_the_machine_is_described_without_its_name() -> None:
    assert re.search(r"\d+ cores, .*Python 3\.\d+\.\d+, flexcfl \d.*torch \d.*numpy \d", machine())
    assert not re.search(rf"\b{re.escape(platform.node())}\b", machine())
    assert peak_memory() > 10**7


def test_a_whole_run_is_more_than_its_training() -> None:
    told: list[None] = []
    run = full_run(None, 4, lambda: told.append(None), dataset="digits")
    assert len(told) == run.rounds == 4
    assert 0 < run.training < run.seconds
    assert run.ratio > 1
    assert 0 < run.early_memory <= run.memory


@pytest.mark.slow
def test_noise_is_over_clients_of_the_same_sizes_as_mnist() -> None:
    made = noise()
    assert made.clients == 1000
    assert made.shape == (1, 28, 28)
    assert abs(int(made.train.sizes.sum()) - 61_665) < 2_000
    assert Workload("", "mnist", "mclr").cohort == 20
