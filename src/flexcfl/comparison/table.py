"""The figures of a comparison: mean and spread over seeds, a row for each algorithm."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from flexcfl.comparison.messages import Done
from flexcfl.protocol import Flags
from flexcfl.record import csv_lines as tables
from flexcfl.record.metrics import Figure
from flexcfl.record.summary import Summary, accuracy_of

__all__ = ["COLUMNS", "Row", "compared", "csv", "ranked", "row", "value"]

# What a line of comparison.csv holds of a summary, by where it stands there.
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "algorithm": ("algorithm",),
    "seed": ("seed",),
    "best": ("accuracy", "best"),
    "final": ("accuracy", "final"),
    "median": ("accuracy", "median"),
    "honest_best": ("honest", "best"),
    "honest_final": ("honest", "final"),
    "epsilon": ("privacy", "epsilon"),
    "transfers": ("traffic", "transfers"),
    "relative_to_fedavg": ("traffic", "relative_to_fedavg"),
    "down_bytes": ("traffic", "down_bytes"),
    "up_bytes": ("traffic", "up_bytes"),
    "shifted": ("shifted",),
    "detected": ("detected",),
    "migrations": ("migrations",),
    "seconds": ("seconds",),
}


@dataclass(frozen=True)
class Row:
    """What a comparison shows of one algorithm.

    ``best`` and ``final`` are accuracies over the rounds in which every run is measured: the best
    of these rounds, and the mean of the last ten. ``relative_to_fedavg`` is the traffic, in model
    transfers as a multiple of FedAvg's, ``down_bytes`` and ``up_bytes`` what would go over the
    wire.
    """

    algorithm: str
    best: Figure
    final: Figure
    relative_to_fedavg: Figure
    down_bytes: Figure
    up_bytes: Figure
    migrations: Figure
    seconds: Figure

    def figures(self) -> dict[str, Any]:
        """Return the figures as plain values, by name."""
        return {name: figure for name, figure in asdict(self).items() if name != "algorithm"}


def compared(done: Done, rounds: Flags) -> Summary:
    """Return the summary of a run with its accuracies over these rounds alone."""
    accuracy, honest = accuracy_of(done.accuracy, rounds), accuracy_of(done.honest, rounds)
    return {
        **done.summary,
        "accuracy": accuracy,
        "honest": None if honest["best"] is None else honest,
    }


def ranked(rows: Iterable[Row]) -> list[Row]:
    """Return rows with the highest final accuracy first, and those without one last."""
    return sorted(rows, key=lambda row: row.final.rank)


def row(algorithm: str, summaries: Sequence[Summary]) -> Row:
    """Return the row of an algorithm from the summaries of its runs, one for each seed."""
    names = [name for name in Row.__dataclass_fields__ if name != "algorithm"]
    figures = {name: Figure.of(value(each, name) for each in summaries) for name in names}
    return Row(algorithm, **figures)


def csv(summaries: Iterable[Summary]) -> str:
    """Return a line for each run."""
    return tables.written(
        [list(COLUMNS), *([value(each, name) for name in COLUMNS] for each in summaries)]
    )


def value(summary: Summary, name: str) -> Any:
    """Return what a summary has for a column."""
    found: Any = summary
    for key in COLUMNS[name]:
        found = None if found is None else found[key]
    return found
