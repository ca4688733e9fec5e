"""Flower beside the simulator: seconds and messages of a round, and what an empty message takes.

    python benchmarks/flower.py [--data DIR] [--rounds 4]

Real processes on this machine: a SuperLink, four SuperNodes, and one process for every message.
FlexCFL on MNIST, as long as nobody's data change; the start and the first round, in which clients
are placed, are told by themselves. All take turns with nothing else running.
"""

import argparse
import csv
import json
import statistics
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

import flexcfl
from flexcfl.flower.local import Federation, Plan
from flexcfl.flower.local.conduct import federate
from flexcfl.runner.layers import spoken

NODES = 4
EMPTY = Path(__file__).parent / "flower_empty"
CASES = {"4 nodes x 1 client": 4, "4 nodes x 250 clients": 1000}


@dataclass(frozen=True)
class Measured:
    """The rounds of a run: seconds and messages of each, those of the evaluation by themselves."""

    training: list[float]
    evaluation: list[float]
    messages: list[int]
    framing: float


def settings(clients: int, rounds: int) -> dict[str, Any]:
    """Return an experiment in which everybody is placed in the first round or before it."""
    groups = 2 if clients == NODES else 3
    return {
        "data.name": "mnist",
        "data.partition": "classes",
        "data.clients": clients,
        "data.classes_per_client": 5 if clients == NODES else 2,
        "algorithm.name": "flexcfl",
        "algorithm.groups": groups,
        "algorithm.alpha": max(clients // groups // 10, 2),
        "run.cohort": min(clients, 20),
        "run.rounds": rounds,
        "shift.name": "none",
    }


def on_flower(given: dict[str, Any], folder: Path) -> Measured:
    """Run an experiment over nodes, and read what its folder says."""
    words = spoken({}, given)
    federate(None, words, Console(quiet=True), nodes=NODES, out=folder)
    timings = list(_rows(folder / "timings.csv"))
    counts = [0] * (len(timings) + 1)
    for row in _rows(folder / "messages.csv"):
        if row["order"] != "evaluate":
            counts[int(row["round"])] += int(row["messages"])
    summary = json.loads((folder / "summary.json").read_text())
    return Measured(
        [float(row["training"]) for row in timings],
        [float(row["evaluation"]) for row in timings],
        counts[1:],
        summary["network"]["framing"],
    )


def at_home(given: dict[str, Any]) -> list[float]:
    """Run the same in the simulator, and return the seconds of its rounds."""
    with tempfile.TemporaryDirectory() as folder:
        flexcfl.run(set=given, out=Path(folder) / "run")
        rows = list(_rows(Path(folder) / "run" / "timings.csv"))
    return [float(row["training"]) + float(row["evaluation"]) for row in rows]


def empty(folder: Path) -> list[float]:
    """Return the seconds of messages to all nodes without anything in them."""
    folder.mkdir()
    plan = Plan(folder, {"out": str(folder)}, NODES, app=EMPTY)
    with Federation(plan, Console(quiet=True), _complain) as federation:
        federation.run()
    seconds: list[float] = json.loads((folder / "seconds.json").read_text())
    return seconds


def _complain(text: str) -> None:
    print(text, file=sys.stderr)


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(newline="") as file:
        yield from csv.DictReader(file)


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", help="where MNIST's files are looked for first")
    parser.add_argument("--rounds", type=int, default=4)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        nothing = statistics.median(empty(Path(scratch) / "empty")[1:])
        print(f"an empty message to {NODES} nodes and back: {nothing:.1f} s")
        for name, clients in CASES.items():
            given = settings(clients, asked.rounds)
            if asked.data:
                given["run.data"] = asked.data
            measured = on_flower(given, Path(scratch) / str(clients))
            home = at_home(given)
            _tell(name, measured, home, nothing)


def _tell(name: str, measured: Measured, home: list[float], nothing: float) -> None:
    later = slice(1, None)
    training = statistics.median(measured.training[later])
    evaluation = statistics.median(measured.evaluation[later])
    messages = statistics.median(measured.messages[later])
    orders = messages / NODES
    print(
        f"{name}: {training:.1f} s a round and {evaluation:.1f} s for its evaluation (simulator: "
        f"{statistics.median(home[later]):.3f} s for both); {messages:g} messages a round "
        f"({orders:.2g} a node), of whose time empty messages would take "
        f"{orders * nothing / training:.0%}; start and first round {measured.training[0]:.1f} s "
        f"with {measured.messages[0]} messages; framing {measured.framing:.1%}"
    )


if __name__ == "__main__":
    main()
