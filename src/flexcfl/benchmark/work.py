"""The workload of the benchmarks: FedAvg's local training, by the engine and a plain PyTorch loop.

Li et al.: Federated Optimization in Heterogeneous Networks. MLSys 2020, for the federations; Duan
et al.: Flexible Clustered Federated Learning for Client-Level Data Distribution Shift. IEEE TPDS
2022, for K = 20, E = 10, B = 10.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from flexcfl.data import Federation, load_federation
from flexcfl.data.image_datasets import MnistOptions
from flexcfl.data.images import aligned_empty
from flexcfl.data.published_partitions import CLASSES, published_mnist
from flexcfl.engine import Engine
from flexcfl.engine.schedule import Schedule, draw_batches
from flexcfl.protocol import Ids, Local, Vector
from flexcfl.seeds import generator

COHORT = 20
LOCAL = Local(epochs=10, batch=10, rate=0.03)


@dataclass(frozen=True)
class Workload:
    """A model and a federation; ``cohort`` clients train in each round."""

    title: str
    dataset: str
    model: str
    cohort: int = COHORT

    def federation(self, data: Path | None) -> Federation:
        """Load the federation."""
        return load_federation(self.dataset, data)


WORKS = {
    "W1": Workload("logistic regression", "mnist", "mclr"),
    "W2": Workload("MLP 784-128-10", "mnist", "mlp"),
    "W3": Workload("MNIST CNN", "mnist", "cnn"),
    "W5": Workload("Fashion-MNIST CNN", "fashion-mnist", "cnn"),
    "W6": Workload("logistic regression, Synthetic(1,1)", "synthetic", "mclr"),
}


def noise() -> Federation:
    """Return noise in the shape of MNIST, with the same clients and sizes.

    The duration of a step does not depend on the pixels.
    """
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat(np.arange(CLASSES), 7000))
    x = aligned_empty((len(y), 1, 28, 28))
    rng.standard_normal(dtype=np.float32, out=x)
    train, test = published_mnist(y, MnistOptions().seed, classes_per_client=2)
    return Federation("mnist", x, y, train, test, CLASSES)


@dataclass(frozen=True, eq=False)
class BenchmarkRound:
    """A cohort, and the batches of its clients."""

    number: int
    clients: Ids
    schedules: list[Schedule]

    @property
    def steps(self) -> int:
        """The number of client steps: the mini-batches of all clients."""
        return sum(len(schedule) for schedule in self.schedules)


def cohort(federation: Federation, number: int, size: int) -> Ids:
    """Choose the clients that train in round ``number``."""
    rng = generator(0, "benchmark", number)
    return np.sort(rng.choice(federation.clients, size, replace=False))


def make_round(federation: Federation, number: int, size: int) -> BenchmarkRound:
    """Choose a cohort and draw its batches."""
    clients = cohort(federation, number, size)
    own = federation.train.gathered(clients)
    draws = zip(own, _generators(number, clients), strict=True)
    return BenchmarkRound(
        number, clients, [draw_batches(examples, LOCAL, rng) for examples, rng in draws]
    )


def plain_loop(
    module: nn.Module, x: Tensor, y: Tensor, start: Mapping[str, Tensor], work: BenchmarkRound
) -> None:
    """Train one client after the other on one thread, as a PyTorch tutorial would."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the fastest number for batches this small
    try:
        for schedule in work.schedules:
            module.load_state_dict(start)
            optimizer = torch.optim.SGD(module.parameters(), lr=LOCAL.rate)
            for row, count in zip(schedule.rows, schedule.counts, strict=True):
                rows = torch.from_numpy(row[:count])
                optimizer.zero_grad()
                functional.cross_entropy(module(x[rows]), y[rows]).backward()  # type: ignore[no-untyped-call]
                optimizer.step()
    finally:
        torch.set_num_threads(threads)


def engine_round(
    engine: Engine, federation: Federation, start: Vector, work: BenchmarkRound
) -> NDArray[np.float32]:
    """Train the same clients on the same batches with the engine, which draws them itself."""
    updates, _ = engine.train(
        start[None],
        np.zeros(len(work.clients), dtype=np.int64),
        federation.train.gathered(work.clients),
        LOCAL,
        _generators(work.number, work.clients),
    )
    return updates


def multiply_adds(module: nn.Module, x: Tensor, y: Tensor) -> float:
    """Count the multiply-adds of one client step on a batch, forward and backward."""
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        functional.cross_entropy(module(x), y).backward()  # type: ignore[no-untyped-call]
    return float(counter.get_total_flops()) / 2


def _generators(number: int, clients: Ids) -> Iterator[np.random.Generator]:
    return (generator(0, "train", number, int(client)) for client in clients)
