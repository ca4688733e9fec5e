"""The operators of a step are counted: this shows a slowdown however busy the machine is."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from flexcfl.engine import Engine, PathName, kernels, winners
from flexcfl.engine.schedule import draw_batches
from flexcfl.models.networks import dense, mnist_cnn
from flexcfl.protocol import Local
from tests.engine.cohorts import CLASSES, SHAPE, Cohort, logistic_regression, perceptron

IMAGE = (1, 28, 28)
FEW, MORE = 4, 12  # steps


class Operators(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts operators, and the tensors of at least some size that they make."""

    def __init__(self, large: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.large, self.count, self.copies = large, 0, 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> object:
        made = func(*args, **(kwargs or {}))
        self.count += 1
        given = {each.data_ptr() for each in args if isinstance(each, torch.Tensor)}
        for each in made if isinstance(made, tuple | list) else (made,):
            if isinstance(each, torch.Tensor) and each.data_ptr() not in given:
                self.copies += each.numel() >= self.large
        return made


def engine(make: Callable[[], nn.Module], shape: tuple[int, ...], path: PathName) -> Engine:
    x = np.random.default_rng(0).normal(size=(40, *shape)).astype(np.float32)
    return Engine(make, x, np.arange(40) % CLASSES, CLASSES, path=path)


def per_step(made: Engine, clients: int, largest: int) -> tuple[float, float]:
    """Return how many operators, and new tensors as large as a weight matrix, a step takes."""
    start = made.initial(np.random.default_rng(0))
    starts = np.tile(start, (clients, 1))
    counts = []
    for steps in (FEW, FEW, MORE):  # the first one may prepare something for all
        local = Local(steps=steps, batch=10)
        rngs = [np.random.default_rng(client) for client in range(clients)]
        schedules = [draw_batches(np.arange(40), local, rng) for rng in rngs]
        with made.paths.borrowed() as path, Operators(largest * clients) as operators:
            path.train(starts, schedules, local, np.empty_like(starts))
        counts.append((operators.count, operators.copies))
    _, (few, few_copies), (more, more_copies) = counts
    return (more - few) / (MORE - FEW), (more_copies - few_copies) / (MORE - FEW)


@pytest.mark.parametrize("make", [logistic_regression, perceptron])
def test_a_compiled_step_launches_no_operator(make: Callable[[], nn.Module]) -> None:
    assert per_step(engine(make, SHAPE, "compiled"), clients=3, largest=1) == (0, 0)


@pytest.mark.parametrize("clients", [1, 8])
@pytest.mark.parametrize(("hidden", "most"), [((), 14), ((128,), 22)])
def test_a_fused_step_shares_its_operators_and_copies_no_weights(
    hidden: tuple[int, ...], most: int, clients: int
) -> None:
    made = engine(lambda: dense(IMAGE, hidden, CLASSES), IMAGE, "dense")
    operators, copies = per_step(made, clients, largest=784 * 128)
    assert operators <= most
    assert copies == 0


def test_a_convolutional_step_is_not_more_operators_than_it_was() -> None:
    made = engine(lambda: mnist_cnn(CLASSES), IMAGE, "stacked")
    operators, _ = per_step(made, clients=1, largest=1)
    assert operators <= 70


def test_nothing_is_compiled_again() -> None:
    for module in ("logistic regression", "perceptron"):
        for batch in (1, 3, 10, 64):
            cohort = Cohort((1, 7, 30))
            cohort.train(cohort.engine(module), Local(epochs=1, batch=batch))
    engine(lambda: mnist_cnn(CLASSES), IMAGE, "layered")
    for each in (kernels.train, kernels.evaluate, winners.backward):
        assert len(each.signatures) == 1
