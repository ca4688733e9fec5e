"""Measure the cost of checkpoints: the same runs with and without them, in turns, on MNIST.

A run without checkpoints writes its tables all the same. FeSEM keeps a model for every client, the
largest memory of all methods. Example: python benchmarks/checkpoints.py --data DIR
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

from flexcfl import disk
from flexcfl.experiment.layers import options_layer
from flexcfl.experiment.resolve import resolve
from flexcfl.record.folder import RunFolder
from flexcfl.runner.execute import execute
from flexcfl.runner.prepare import Prepared, prepare

ALGORITHMS = ("fedavg", "flexcfl", "fesem")
WITHOUT = {"run.checkpoint_rounds": 0, "run.checkpoint_seconds": 0}


@dataclass(frozen=True)
class Cost:
    """The cost of checkpoints in a run: seconds without and with them, and bytes written."""

    name: str
    without: list[float]
    with_: list[float]
    written: int

    @property
    def share(self) -> float:
        """The median of the added time, as a fraction of the run without checkpoints."""
        pairs = zip(self.without, self.with_, strict=True)
        return statistics.median(with_ / without - 1 for without, with_ in pairs)


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, help="the folder of MNIST's files")
    parser.add_argument("--dataset", default="mnist")
    parser.add_argument("--model", nargs="+", default=["mclr"])
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--times", type=int, default=7, help="number of runs of each kind")
    words = parser.parse_args()
    given = {"dataset": words.dataset, "data": words.data, "rounds": words.rounds}
    table = Table("run", "without", "with", "added", "written", title="the cost of checkpoints")
    for model in words.model:
        for algorithm in ALGORITHMS:
            cost = measured({**given, "model": model, "algorithm": algorithm}, words.times)
            seconds = (f"{statistics.median(each):.2f} s" for each in (cost.without, cost.with_))
            table.add_row(cost.name, *seconds, f"{cost.share:+.1%}", f"{cost.written / 1e6:.0f} MB")
    Console().print(table)


def measured(given: dict[str, object], times: int) -> Cost:
    """Return the cost of checkpoints in a run with these settings; the order alternates."""
    kinds = {name: _prepared(given, more) for name, more in (("without", WITHOUT), ("with", {}))}
    seconds: dict[str, list[float]] = {name: [] for name in kinds}
    name = f"{given['algorithm']} {given['model']}"
    with tempfile.TemporaryDirectory(dir=".") as root:
        for turn in track(range(times + 1), name, transient=True):
            for kind in sorted(kinds, reverse=bool(turn % 2)):
                taken = _run(kinds[kind], Path(root) / f"{kind}-{turn}")
                if turn:  # the first is a warm-up
                    seconds[kind].append(taken)
        written = _written(kinds["with"], Path(root) / "counted")
    return Cost(name, seconds["without"], seconds["with"], written)


def _prepared(given: Mapping[str, object], more: Mapping[str, object]) -> Prepared:
    return prepare(resolve([options_layer(given, more)]).experiment)


def _run(prepared: Prepared, folder: Path) -> float:
    folder.mkdir()
    started = time.perf_counter()
    execute(prepared, folder=RunFolder(folder))
    return time.perf_counter() - started


def _written(prepared: Prepared, folder: Path) -> int:
    """Return the bytes of all checkpoints of a run, including those that were removed."""
    write, total = disk.write_in_order, 0

    def counted(files: Mapping[Path, list[disk.Bytes]]) -> None:
        nonlocal total
        checkpoints = (each for path, each in files.items() if path.parent.name == "checkpoints")
        total += sum(len(part) for parts in checkpoints for part in parts)
        write(files)

    disk.write_in_order = counted  # type: ignore[assignment]
    try:
        _run(prepared, folder)
    finally:
        disk.write_in_order = write
    return total


if __name__ == "__main__":
    main()
