"""Measure the cost of a FlexCFL round for more and more clients, up to a million.

The clients share one pool of examples and are made on demand; swap-part moves their data. Examples:
python benchmarks/scale.py, and for the million alone: python benchmarks/scale.py --only million
"""

import argparse
import statistics
import time
import tracemalloc
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import flexcfl
from flexcfl.benchmark import alternate
from flexcfl.benchmark.machine import peak_memory
from flexcfl.data import Federation, MadeLists
from flexcfl.engine import Engine
from flexcfl.experiment.layers import options_layer
from flexcfl.experiment.objects import UserObjects
from flexcfl.experiment.resolve import resolve
from flexcfl.protocol import CheckDrift, Ids, Settle
from flexcfl.record.tables import Round
from flexcfl.runner.loop import train
from flexcfl.runner.prepare import prepare
from flexcfl.shifts import SwapAll, Timeline
from flexcfl.shifts.detection import LabelShare, Watch
from flexcfl.simulation import Simulation

EXAMPLES, CLASSES, FEATURES = 20_000, 10, 32
TRAIN, TEST = 10, 2  # examples of each client
SAMPLE = 1000  # clients on which models are evaluated
ROUNDS = 20
# So few that no client is visited twice in all rounds, even with 1,000 clients:
# the same number of newcomers, and of clients that may exchange their data, for all sizes.
COHORT = 50
PARTS: dict[str, tuple[type[Any], str]] = {
    "shifts": (Timeline, "at"),
    "training": (Engine, "train"),
    "check": (Watch, "check"),
    "evaluation": (Engine, "evaluate"),
}
APART = ("check", "evaluation")


def lists(clients: int, size: int, salt: int) -> MadeLists:
    """Return lists of ``size`` examples, of two neighbouring classes, for so many clients."""
    each = EXAMPLES // CLASSES

    def make(ids: Ids) -> NDArray[np.int64]:
        place = np.arange(size)
        label = (ids[:, np.newaxis] + place % 2) % CLASSES
        # Multiplication that wraps around, and the high bits of the product: as good as random.
        mixed = (ids[:, np.newaxis] * size + place + salt).astype(np.uint64)
        mixed *= np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
        mixed *= np.uint64(0xD6E8FEB86659FD93)
        return (label * each + (mixed >> np.uint64(33)).astype(np.int64) % each).ravel()

    return MadeLists.of(make, np.full(clients, size), EXAMPLES)


def federation(clients: int) -> Federation:
    """Return this many clients on one pool, in which classes are clouds of points."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(CLASSES), EXAMPLES // CLASSES)
    x = rng.normal(size=(CLASSES, FEATURES))[y] + rng.normal(size=(EXAMPLES, FEATURES))
    halves = (lists(clients, TRAIN, 0), lists(clients, TEST, 2**40))
    return Federation("made on demand", x.astype(np.float32), y, *halves, CLASSES)


def settings(clients: int, cohort: int, rounds: int) -> dict[str, Any]:
    """Return the arguments of ``flexcfl.run``."""
    run = {"cohorts": "round-robin-then-uniform", "evaluate_clients": min(SAMPLE, clients)}
    return {
        "algorithm": "flexcfl",
        "model": "mclr",
        "groups": 3,
        "rounds": rounds,
        "cohort": cohort,
        "epochs": 5,
        "shift": "swap-part",
        "set": {"run": run, "algorithm": {"alpha": 5}},
    }


def course(clients: int, cohort: int, rounds: int) -> Iterator[Round]:
    """Yield the rounds that ``flexcfl.run`` would do, one by one."""
    given, own = (
        settings(clients, cohort, rounds),
        UserObjects(federation(clients)),
    )
    assignments = given.pop("set")
    layer = options_layer({**given, "dataset": "made on demand"}, assignments)
    prepared = prepare(resolve([layer], own).experiment, own)
    experiment = prepared.experiment
    watch = Watch(experiment.drift.options, clients)
    world = Simulation(prepared.engine, prepared.timeline, experiment.run.seed, watch)
    initial, cohorts = prepared.engine.initial, prepared.cohorts
    return train(prepared.algorithm, world, initial, cohorts, experiment.run)


@dataclass(eq=False)
class Stopwatch:
    """The seconds of each part in every round, and of ``all``.

    They are those of processors, which other work on the same machine does not lengthen much.
    """

    rounds: Iterator[Round]
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def next(self, _: object = None) -> None:
        """Do one more round."""
        parts = dict.fromkeys(PARTS, 0.0)
        start = time.process_time()
        with _measured(parts):
            next(self.rounds)
        parts["all"] = time.process_time() - start
        parts["round"] = parts["all"] - sum(parts[name] for name in APART)
        parts["rest"] = parts["all"] - sum(parts[name] for name in PARTS)
        for name, seconds in parts.items():
            self.seconds[name].append(seconds)

    def milliseconds(self, part: str) -> float:
        """Return the median of a part, without the first rounds."""
        return statistics.median(self.seconds[part][2:]) * 1e3


@contextmanager
def _measured(parts: dict[str, float]) -> Iterator[None]:
    with ExitStack() as stack:
        for name, (kind, method) in PARTS.items():
            work = _timed(getattr(kind, method), parts, name)
            stack.enter_context(patch.object(kind, method, work))
        yield


def _timed(work: Callable[..., Any], parts: dict[str, float], name: str) -> Callable[..., Any]:
    def timed(*args: Any, **kwargs: Any) -> Any:
        start = time.process_time()
        result = work(*args, **kwargs)
        parts[name] += time.process_time() - start
        return result

    return timed


def compare(cases: Sequence[tuple[int, int]], rounds: int) -> list[Stopwatch]:
    """Let federations with these numbers of clients and cohort sizes take turns round by round."""
    watches = [Stopwatch(course(clients, cohort, rounds)) for clients, cohort in cases]
    contestants = {str(number): watch.next for number, watch in enumerate(watches)}
    alternate(contestants, range(rounds - 1), units=lambda _: 1)  # it repeats the first
    return watches


def memory(clients: int, cohort: int = 10, rounds: int = 3) -> int:
    """Return the peak memory of NumPy and Python during a short run, in bytes."""
    tracemalloc.start()
    work = course(clients, cohort, rounds)
    tracemalloc.reset_peak()  # making the pool takes several times its size
    for _ in work:
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def checked(clients: int, rounds: int = 3) -> float:
    """Return the microseconds per client of a check in which all clients have new data."""
    everybody = np.arange(clients)
    swap = {"swap-all": SwapAll(1.0)}
    timeline = Timeline(federation(clients), swap, 0, lambda _: everybody)
    world = Simulation(None, timeline, 0, Watch(LabelShare(), clients))
    seconds = []
    for number in range(rounds + 1):
        executor = world.at(number)
        start = time.process_time()
        executor(CheckDrift(everybody))
        seconds.append(time.process_time() - start)
        executor(Settle(everybody))
    return statistics.median(seconds[1:]) / clients * 1e6


def over_clients(sizes: Sequence[int], rounds: int) -> Table:
    """Return a table of the cost of a round with more and more clients."""
    columns = ("shifts", "training", "rest", "round", *APART)
    title = f"Milliseconds a round in which {COHORT} clients take part"
    table = _table(title, "clients", *columns, "of all", "bytes")
    table.caption = "round: without check and evaluation; of all: us a client, where all changed"
    watches = compare([(size, COHORT) for size in sizes], rounds)
    least = memory(sizes[0])
    for size, watch in zip(sizes, watches, strict=True):
        cells = [f"{watch.milliseconds(name):.2f}" for name in columns]
        more = size - sizes[0]
        kept = f"{(memory(size) - least) / more:.0f}" if more else "-"
        table.add_row(f"{size:,}", *cells, f"{checked(size):.2f}", kept)
    return table


def over_cohorts(sizes: Sequence[int], clients: int, rounds: int) -> Table:
    """Return a table of the cost of a round with larger and larger cohorts."""
    title = f"Milliseconds a round, {clients:,} clients"
    table = _table(title, "cohort", "training", "rest", "round", *APART, "us a client")
    watches = compare([(clients, size) for size in sizes], rounds)
    for size, watch in zip(sizes, watches, strict=True):
        taken = [watch.milliseconds(name) for name in ("training", "rest", "round", *APART)]
        each = watch.milliseconds("round") / size * 1e3
        table.add_row(f"{size:,}", *(f"{value:.2f}" for value in taken), f"{each:.0f}")
    return table


def million(clients: int, cohort: int, rounds: int) -> str:
    """Run FlexCFL through its public function, and return the results."""
    start = time.perf_counter()
    run = flexcfl.run(dataset=federation(clients), **settings(clients, cohort, rounds))
    seconds = time.perf_counter() - start
    summary = run.summary
    accuracy = run.rounds["accuracy"][-1]
    return (
        f"FlexCFL, {clients:,} clients, {cohort:,} a round, {rounds} rounds: {seconds:.1f} s, "
        f"{seconds / rounds * 1e3:.0f} ms a round, {peak_memory() / 1e6:,.0f} MB at most. "
        f"{summary['placed']:,} were placed, {summary['shifted']:,} shifted, "
        f"{summary['migrations']:,} went to another group; accuracy {accuracy:.1%} over "
        f"{run.rounds['tested'][-1]} that have a group in a sample of {min(SAMPLE, clients):,}."
    )


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, box=None, padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def main() -> None:
    """Print the tables, and the run of a million."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=["clients", "cohorts", "million"])
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N")
    parser.add_argument("--most", type=int, default=1_000_000, metavar="N", help="clients")
    given = parser.parse_args()
    console = Console()
    works: dict[str, Callable[[], Table | str]] = {
        "million": lambda: million(given.most, min(1000, given.most), given.rounds),
        "clients": lambda: over_clients(_sizes(given.most), given.rounds),
        "cohorts": lambda: over_cohorts((10, 100, 1000), min(100_000, given.most), given.rounds),
    }
    for name in works if given.only is None else [given.only]:
        console.print(works[name](), highlight=False, soft_wrap=True)


def _sizes(most: int) -> list[int]:
    return [size for size in (1000, 10_000, 100_000, 1_000_000) if size <= most]


if __name__ == "__main__":
    main()
