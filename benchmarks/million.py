"""A round's drift check of very many clients, every one of whom has other data than before.

Example: python benchmarks/million.py --clients 1000000
"""

import argparse
import time
from typing import Any

import numpy as np
from rich.console import Console

from flexcfl.data import Federation, IndexLists
from flexcfl.drift import LabelShare, Watch
from flexcfl.protocol import CheckDrift, Settle
from flexcfl.shifts import SwapAll, Timeline
from flexcfl.simulation import Simulation

EXAMPLES, CLASSES = 10, 10


def federation(clients: int) -> Federation:
    """Return clients with ten training examples each, of two neighbouring classes."""
    owner = np.repeat(np.arange(clients), EXAMPLES)
    y = (owner + np.random.default_rng(0).integers(2, size=len(owner))) % CLASSES
    offsets = np.arange(clients + 1) * EXAMPLES
    x = np.zeros((len(y), 1), np.float32)
    nothing = IndexLists(np.empty(0, np.int64), offsets * 0)
    return Federation("many", x, y, IndexLists(np.arange(len(y)), offsets), nothing, CLASSES)


def measured(clients: int, rounds: int) -> tuple[list[float], int]:
    """Return the seconds that each round's check took, and the verdicts of the last."""
    everybody = np.arange(clients)
    timeline = Timeline(federation(clients), {"swap-all": SwapAll(1.0)}, 0, lambda _: everybody)
    unused: Any = None  # nobody trains
    world = Simulation(unused, timeline, 0, Watch(LabelShare(), clients))
    world.at(0)(Settle(everybody))
    seconds = []
    for number in range(1, rounds + 1):
        executor = world.at(number)
        start = time.perf_counter()
        checked = executor(CheckDrift(everybody))
        seconds.append(time.perf_counter() - start)
        executor(Settle(everybody))
    return seconds, int(checked.drifted.sum())


def main() -> None:
    """Print what a check takes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=1_000_000, metavar="N")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="of which the median")
    given = parser.parse_args()
    console = Console()
    with console.status(f"Checking {given.clients:,} clients, {given.rounds} times"):
        seconds, verdicts = measured(given.clients, given.rounds)
    console.print(
        f"{given.clients:,} clients with {EXAMPLES} examples each, all exchanged: "
        f"{np.median(seconds):.2f} s a round (from {min(seconds):.2f} to {max(seconds):.2f}), "
        f"{verdicts:,} verdicts",
        highlight=False,
        soft_wrap=True,
    )


if __name__ == "__main__":
    main()
