"""Measure the engine and the plain loop in turns on the same work, and compare the medians."""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import torch
from rich.table import Table

from flexcfl.benchmark.work import (
    LOCAL,
    BenchmarkRound,
    Workload,
    engine_round,
    make_round,
    multiply_adds,
    plain_loop,
)
from flexcfl.data import Federation
from flexcfl.engine import Engine
from flexcfl.models import build
from flexcfl.seeds import generator

WorkT = TypeVar("WorkT")
COLUMNS = ("work", "plain loop", "flexcfl", "times as fast", "limit", "times the limit", "path")
CAPTION = (
    "Median microseconds per client step, one mini-batch of 10 of one client. The plain loop is "
    "PyTorch on one thread; the limit is the multiply-adds of the step at the rate of a large "
    "matrix product on all cores. Below 25 %, differences mean nothing."
)


@dataclass(frozen=True)
class StepTimes:
    """Median microseconds per client step, one mini-batch of one client, over some rounds.

    ``limit`` is the time of the multiply-adds of a full step at the rate of a large matrix product
    on all cores of the machine.
    """

    work: Workload
    path: str
    steps: int
    plain: float
    ours: float
    limit: float

    @property
    def speedup(self) -> float:
        """The time of the plain loop divided by ours."""
        return self.plain / self.ours

    @property
    def cells(self) -> tuple[str, ...]:
        """Its row in a table."""
        ours, limit = (f"{each:,.1f}" if each < 100 else f"{each:,.0f}"
                       for each in (self.ours, self.limit))  # fmt: skip
        speedup, distance = f"{self.speedup:,.1f}", f"{self.ours / self.limit:,.1f}"
        return self.work.title, f"{self.plain:,.0f}", ours, speedup, limit, distance, self.path


def measure(
    work: Workload, federation: Federation, rounds: int, tell: Callable[[], object] = lambda: None
) -> StepTimes:
    """Let the engine and the plain loop take turns on some rounds; ``tell`` as in ``alternate``."""
    factory = partial(build, work.dataset, work.model, federation.shape, federation.classes)
    engine = Engine(factory, federation.x, federation.y, federation.classes)
    start = engine.initial(generator(0, "initial"))
    module = engine.module(start).train()
    x, y = torch.from_numpy(federation.x), torch.from_numpy(federation.y)
    named = {name: torch.from_numpy(values) for name, values in engine.unflatten(start).items()}
    made = [make_round(federation, number, work.cohort) for number in range(rounds)]
    contestants: Mapping[str, Callable[[BenchmarkRound], object]] = {
        "plain": partial(plain_loop, module, x, y, named),
        "ours": partial(engine_round, engine, federation, start),
    }
    medians = alternate(contestants, made, lambda each: each.steps, tell)
    step = multiply_adds(module, x[: LOCAL.batch], y[: LOCAL.batch])
    steps = sum(each.steps for each in made)
    return StepTimes(work, engine.path, steps, **medians, limit=step / sgemm_rate() * 1e6)


def alternate(
    contestants: Mapping[str, Callable[[WorkT], object]],
    rounds: Sequence[WorkT],
    units: Callable[[WorkT], int],
    tell: Callable[[], object] = lambda: None,
) -> dict[str, float]:
    """Return every contestant's median microseconds per unit of work over the rounds.

    Within a round all contestants do the same work one after the other, so that a slow moment of
    the machine affects all of them. The first round is repeated as a warm-up. ``tell`` is called
    whenever a contestant has done a round.
    """
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for number, work in enumerate([rounds[0], *rounds]):
        for name, run in contestants.items():
            start = time.perf_counter()
            run(work)
            if number:
                times[name].append((time.perf_counter() - start) / units(work) * 1e6)
            tell()
    return {name: statistics.median(values) for name, values in times.items()}


def sgemm_rate(size: int = 1024, repeats: int = 15) -> float:
    """Return the highest multiply-adds per second of a large matrix product on all cores."""
    a, b = torch.rand(size, size), torch.rand(size, size)
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        torch.mm(a, b)
        seconds.append(time.perf_counter() - start)
    return size**3 / min(seconds)


def table(measured: Sequence[StepTimes]) -> Table:
    """Return a table for the terminal."""
    shown = Table(caption=CAPTION, caption_justify="left", box=None)
    for name in COLUMNS:
        shown.add_column(name, justify="left" if name in ("work", "path") else "right")
    for each in measured:
        shown.add_row(*each.cells)
    return shown


def markdown(measured: Sequence[StepTimes]) -> str:
    """Return a table in Markdown."""
    rules = ["---" if name in ("work", "path") else "---:" for name in COLUMNS]
    rows = [COLUMNS, rules, *(each.cells for each in measured)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
