"""Compare Flower with the simulator: seconds and messages of a round, and of an empty message.

    python benchmarks/flower.py [--data DIR] [--rounds 6]

Real processes on this machine: a SuperLink, four SuperNodes, and one process for every message.
FlexCFL on MNIST, whose groups all clients found, and nobody's data change; the start and the first
round are told by themselves. All is held twice: as ``flexcfl federate`` does, where programs are
forks of one process, and as on machines of their own, where each starts by itself.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from flower_faults import table

import flexcfl
from flexcfl.flower.local import FederationPlan, LocalFederation

NODES = 4
EMPTY = Path(__file__).parent / "flower_empty"
# And whether programs are forks, if the system can fork.
WAYS = {"`flexcfl federate`": FederationPlan.forked, "each program by itself": False}
HEAD = (
    *("", "a round, s", "its evaluation, s", "messages to a node", "so many empty ones, s"),
    *("start and first round, s", "framing"),
)
CASES = {"4 nodes x 1 client": 4, "4 nodes x 250 clients": 1000}


@dataclass(frozen=True)
class Measured:
    """The rounds of a run: seconds and messages of each, with those of the evaluation apart."""

    training: list[float]
    evaluation: list[float]
    messages: list[int]
    framing: float


def settings(clients: int, rounds: int) -> dict[str, Any]:
    """Return an experiment in which all clients are placed before the first round."""
    groups = 2 if clients == NODES else 4
    return {
        "data.name": "mnist",
        "data.partition": "classes",
        "data.clients": clients,
        "data.classes_per_client": 5 if clients == NODES else 2,
        "algorithm.name": "flexcfl",
        "algorithm.groups": groups,
        "algorithm.alpha": clients // groups,
        "run.cohort": min(clients, 20),
        "run.rounds": rounds,
        "shift.name": "none",
    }


def held(plan: FederationPlan) -> None:
    """Do the run of a plan on nodes of this machine."""
    with LocalFederation(plan, _complain) as federation:
        federation.run()


def on_flower(given: Mapping[str, Any], folder: Path, data: str | None, forked: bool) -> Measured:
    """Run an experiment over nodes."""
    words = " ".join(f"{key}={value}" for key, value in given.items())
    config = {"set": f"{words} network.nodes={NODES}", "out": str(folder)}
    own = {"data": data} if data else {}
    held(FederationPlan(folder, config, NODES, settings=own, forked=forked))
    return read(folder)


def at_home(given: Mapping[str, Any], folder: Path, data: str | None) -> Measured:
    """Run the same experiment in the simulator."""
    flexcfl.run(set=dict(given), data=data, out=folder)
    return read(folder)


def read(folder: Path) -> Measured:
    """Return the figures from the folder of a run; the simulator has no messages."""
    timings = table(folder / "timings.csv")
    messages = [0] * (len(timings) + 1)  # from the start on, whose seconds are in the first round
    for row in table(folder / "messages.csv"):
        if row["order"] != "evaluate":
            messages[int(row["round"])] += int(row["messages"])
    summary = json.loads((folder / "summary.json").read_text())
    return Measured(
        [float(row["training"]) for row in timings],
        [float(row["evaluation"]) for row in timings],
        messages[1:],
        (summary["network"] or {"framing": 0.0})["framing"],  # there is none in the simulator
    )


def empty(folder: Path, forked: bool) -> float:
    """Return the seconds of an empty message to all nodes."""
    held(FederationPlan(folder, {"out": str(folder)}, NODES, app=EMPTY, forked=forked))
    seconds: list[float] = json.loads((folder / "seconds.json").read_text())
    return statistics.median(seconds[1:])


def _complain(text: str) -> None:
    print(text, file=sys.stderr)


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=os.path.abspath, help="the folder of MNIST's files")
    parser.add_argument("--rounds", type=int, default=6)
    asked = parser.parse_args()
    print("| " + " | ".join(HEAD) + " |\n" + "|---" * len(HEAD) + "|", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = partial(tempfile.mkdtemp, dir=scratch)
        nothing = {way: empty(Path(folder()), forked) for way, forked in WAYS.items()}
        for name, clients in CASES.items():
            given = settings(clients, asked.rounds)
            _tell(f"{name}, simulator", at_home(given, Path(folder()), asked.data), 0.0)
            for way, forked in WAYS.items():
                measured = on_flower(given, Path(folder()), asked.data, forked)
                _tell(f"{name}, {way}", measured, nothing[way])


def _tell(name: str, measured: Measured, nothing: float) -> None:
    """Print a line: the medians of all rounds except the first, and the first round."""
    training, evaluation, messages = (
        statistics.median(each[1:])
        for each in (measured.training, measured.evaluation, measured.messages)
    )
    orders = messages / NODES
    cells = [
        *(name, f"{training:.3g}", f"{evaluation:.3g}", f"{orders:g}", f"{orders * nothing:.3g}"),
        *(f"{measured.training[0]:.3g}", f"{measured.framing:.1%}"),
    ]
    print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
