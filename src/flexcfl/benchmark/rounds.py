"""One round's local training, done by the engine and by the loop of a PyTorch tutorial."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from flexcfl.data import Federation
from flexcfl.engine import Engine
from flexcfl.engine.schedule import Schedule, draw
from flexcfl.protocol import Ids, Local, Vector
from flexcfl.seeds import generator

__all__ = ["Round", "cohort", "engine_round", "make_round", "multiply_adds", "plain_loop"]


@dataclass(frozen=True, eq=False)
class Round:
    """A cohort, and the batches that its clients draw."""

    number: int
    clients: Ids
    schedules: list[Schedule]

    @property
    def steps(self) -> int:
        """Client steps: mini-batches of all clients."""
        return sum(len(schedule) for schedule in self.schedules)


def cohort(federation: Federation, number: int, size: int) -> Ids:
    """Choose who trains in round ``number``."""
    rng = generator(0, "benchmark", number)
    return np.sort(rng.choice(federation.clients, size, replace=False))


def make_round(federation: Federation, number: int, size: int, local: Local) -> Round:
    """Choose a cohort and draw its batches."""
    clients = cohort(federation, number, size)
    own = federation.train.gathered(clients)
    draws = zip(own, _generators(number, clients), strict=True)
    return Round(number, clients, [draw(examples, local, rng) for examples, rng in draws])


def plain_loop(
    module: nn.Module, x: Tensor, y: Tensor, start: Mapping[str, Tensor], local: Local, work: Round
) -> None:
    """Train one client after the other on one thread, as a PyTorch tutorial would."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the fastest number for batches this small
    try:
        for schedule in work.schedules:
            module.load_state_dict(start)
            optimizer = torch.optim.SGD(module.parameters(), lr=local.rate)
            for row, count in zip(schedule.rows, schedule.counts, strict=True):
                rows = torch.from_numpy(row[:count])
                optimizer.zero_grad()
                functional.cross_entropy(module(x[rows]), y[rows]).backward()  # type: ignore[no-untyped-call]
                optimizer.step()
    finally:
        torch.set_num_threads(threads)


def engine_round(
    engine: Engine, federation: Federation, start: Vector, local: Local, work: Round
) -> NDArray[np.float32]:
    """Train the same clients on the same batches with the engine, which draws them itself."""
    updates, _ = engine.train(
        start[None],
        np.zeros(len(work.clients), dtype=np.int64),
        federation.train.gathered(work.clients),
        local,
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
