"""Timing as ratios: contestants take turns on the same work, and medians are compared."""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import torch

__all__ = ["alternate", "sgemm_rate"]

WorkT = TypeVar("WorkT")


def alternate(
    contestants: Mapping[str, Callable[[WorkT], object]],
    rounds: Sequence[WorkT],
    units: Callable[[WorkT], int],
    tell: Callable[[], object] = lambda: None,
) -> dict[str, float]:
    """Return every contestant's median microseconds per unit of work over the rounds.

    Within a round all contestants do the same work one after the other, so that a slow moment of
    the machine meets all of them. The first round is repeated as a warm-up. ``tell`` is called
    whenever one of them is done.
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
    """Return the most multiply-adds per second seen in a large matrix product on all cores."""
    a, b = torch.rand(size, size), torch.rand(size, size)
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        torch.mm(a, b)
        seconds.append(time.perf_counter() - start)
    return size**3 / min(seconds)
