"""The benchmarks run, on a federation small enough not to measure anything."""

import re

import engine
import million
import numpy as np
import pytest
import torch
from harness import alternate, sgemm_rate
from torch import nn

from flexcfl.data import Federation, IndexLists


@pytest.fixture
def federation() -> Federation:
    rng = np.random.default_rng(0)
    lists = IndexLists.of([np.array([client, client + 1]) for client in range(25)])
    x = rng.normal(size=(30, 1, 28, 28)).astype(np.float32)
    return Federation("mnist", x, rng.integers(10, size=30), lists, lists, 10)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["mclr", "mlp"])
def test_a_model_gets_its_table(
    model: str, federation: Federation, capsys: pytest.CaptureFixture[str]
) -> None:
    engine.compare(federation, model, rounds=1)
    shown = capsys.readouterr().out
    for name in ("plain loop, 1 thread", "flexcfl, dense path", "limit: sgemm"):
        assert re.search(rf"^{name}.*( +\d+\.\d){{3}}$", shown, re.M)


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
    assert engine.multiply_adds(module, x, y) == 10 * (2 * first + 3 * second)
    assert sgemm_rate(size=64, repeats=2) > 0


def test_all_of_many_clients_are_checked() -> None:
    seconds, verdicts = million.measured(clients=300, rounds=2)
    assert len(seconds) == 2
    assert 200 < verdicts < 300
