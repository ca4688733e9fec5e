"""How fast cohorts are trained, beside the plain PyTorch loop and the machine's own limit.

Real MNIST federation, FedAvg's local work with the paper's settings (K=20, E=10, B=10).

Example: python benchmarks/engine.py --data DIR
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from harness import alternate, sgemm_rate
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

from flexcfl.data import Federation, load_federation
from flexcfl.engine import Engine
from flexcfl.engine.schedule import Schedule, draw
from flexcfl.errors import FlexcflError
from flexcfl.models import build
from flexcfl.protocol import Local
from flexcfl.seeds import generator

LOCAL = Local(epochs=10, batch=10, rate=0.03)
COHORT = 20
MODELS = {"mclr": "logistic regression", "mlp": "MLP 784-128-10", "cnn": "MNIST CNN"}


@dataclass(frozen=True, eq=False)
class Round:
    """A cohort, and the batches that its clients draw."""

    number: int
    clients: NDArray[np.int64]
    schedules: list[Schedule]

    @property
    def steps(self) -> int:
        """Client steps: mini-batches of all clients."""
        return sum(len(schedule) for schedule in self.schedules)


def make_round(federation: Federation, number: int) -> Round:
    """Choose a cohort and draw its batches."""
    rng = generator(0, "benchmark", number)
    clients = np.sort(rng.choice(federation.clients, COHORT, replace=False))
    schedules = [
        draw(federation.train[int(c)], LOCAL, generator(0, "train", number, int(c)))
        for c in clients
    ]
    return Round(number, clients, schedules)


def plain_loop(
    threads: int, module: nn.Module, x: Tensor, y: Tensor, start: dict[str, Tensor], work: Round
) -> None:
    """Train one client after the other, as a PyTorch tutorial would."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    for schedule in work.schedules:
        module.load_state_dict(start)
        optimizer = torch.optim.SGD(module.parameters(), lr=LOCAL.rate)
        for row, count in zip(schedule.rows, schedule.counts, strict=True):
            rows = torch.from_numpy(row[:count])
            optimizer.zero_grad()
            functional.cross_entropy(module(x[rows]), y[rows]).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    torch.set_num_threads(before)


def ours(engine: Engine, federation: Federation, start: NDArray[np.float32], work: Round) -> None:
    """Train the same clients, on the same batches, with the engine."""
    engine.train(
        start[None],
        np.zeros(len(work.clients), dtype=np.int64),
        federation.train.gathered(work.clients),
        LOCAL,
        [generator(0, "train", work.number, int(client)) for client in work.clients],
    )


def multiply_adds(module: nn.Module, x: Tensor, y: Tensor) -> float:
    """Count the multiply-adds of one full client step, forward and backward."""
    with FlopCounterMode(display=False) as counter:
        functional.cross_entropy(module(x[: LOCAL.batch]), y[: LOCAL.batch]).backward()  # type: ignore[no-untyped-call]
    return float(counter.get_total_flops()) / 2


def compare(federation: Federation, model: str, rounds: int) -> None:
    """Print one table: plain loop, engine, limit."""
    factory: Callable[[], nn.Module] = partial(
        build, "mnist", model, federation.shape, federation.classes
    )
    engine = Engine(factory, federation.x, federation.y, federation.classes)
    start = engine.initial(generator(0, "initial"))
    module = engine.module(start).train()
    x, y = torch.from_numpy(federation.x), torch.from_numpy(federation.y)
    named = {name: torch.from_numpy(values) for name, values in engine.unflatten(start).items()}
    cores = torch.get_num_threads()
    medians = alternate(
        {
            "plain loop, 1 thread": partial(plain_loop, 1, module, x, y, named),
            f"plain loop, {cores} threads": partial(plain_loop, cores, module, x, y, named),
            f"flexcfl, {engine.path} path": partial(ours, engine, federation, start),
        },
        [make_round(federation, number) for number in range(rounds)],
        lambda work: work.steps,
    )
    limit = multiply_adds(module, x, y) / sgemm_rate() * 1e6
    plain = medians["plain loop, 1 thread"]
    print(f"\n{MODELS[model]} ({engine.parameters:,} parameters), median of {rounds} rounds")
    print(f"{'':30}{'us/client step':>16}{'x plain loop':>14}{'x from limit':>14}")
    for name, value in [*medians.items(), (f"limit: sgemm on {cores} cores", limit)]:
        print(f"{name:30}{value:16.1f}{plain / value:14.1f}{value / limit:14.1f}")


def main() -> None:
    """Read the options and print a table for each model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder that holds mnist/ (or FLEXCFL_DATA)")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--rounds", type=int, default=5, help="rounds to take the median of")
    options = parser.parse_args()
    try:
        federation = load_federation("mnist", options.data)
    except FlexcflError as error:
        parser.error(str(error))
    for model in options.models:
        compare(federation, model, options.rounds)


if __name__ == "__main__":
    main()
