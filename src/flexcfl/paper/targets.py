"""Everything that can be reproduced, by name: its runs, its table and its picture."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from flexcfl.errors import SettingsError, unknown
from flexcfl.paper import bound, figures, own_tables, tables
from flexcfl.paper.catalogue import ROWS, Row, family
from flexcfl.paper.cells import Part
from flexcfl.paper.comparison_table import ComparisonTable
from flexcfl.paper.results import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["TARGETS", "Target", "TargetInput", "TargetOutput", "target_named"]

Parts: TypeAlias = Callable[[Row], Sequence[Part]]
EVERY, MNIST = tuple(ROWS), ("mnist-mclr",)


@dataclass(frozen=True)
class TargetInput:
    """What a target is made from: rows, where their data are, and runs that are finished.

    A table shows all of these, a picture those of the rows that were asked for.
    """

    rows: Sequence[Row]
    data: Path | None
    results: Sequence[Result]

    @property
    def drawn(self) -> list[Result]:
        """The runs of a picture."""
        names = [row.name for row in self.rows]
        return [result for result in self.results if family(result.cell.part.row) in names]


@dataclass(frozen=True)
class TargetOutput:
    """What comes of a target: a table, how to draw its picture, and further files by ending."""

    table: ComparisonTable | None = None
    draw: "Callable[[], Figure] | None" = None
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Target:
    """A table or a figure.

    ``rows`` are those that it can have and ``usual`` those that it has unless others are named, if
    not all. ``parts(row)`` are the runs that a row needs.
    """

    summary: str
    rows: Sequence[str]
    make: Callable[[TargetInput], TargetOutput]
    parts: Parts = lambda row: ()
    usual: Sequence[str] = ()


def _of_runs(
    summary: str,
    rows: Sequence[str],
    parts: Parts,
    table: Callable[[Sequence[Result]], ComparisonTable] | None = None,
    draw: "Callable[[Sequence[Result]], Figure] | None" = None,
    usual: Sequence[str] = (),
) -> Target:
    def make(found: TargetInput) -> TargetOutput:
        shown = table(found.results) if table else None
        return TargetOutput(shown, partial(draw, found.drawn) if draw else None)

    return Target(summary, rows, make, parts, usual)


def _bound(found: TargetInput) -> TargetOutput:
    measured = bound.measured(found.data)
    files = {"epochs": bound.csv(measured)}
    return TargetOutput(bound.table(measured), partial(bound.draw, measured), files)


TARGETS: Mapping[str, Target] = {
    "table1": _of_runs(
        "motivation: FedAvg with 1, 3, 5 and 10 classes a client",
        MNIST,
        tables.table1_parts,
        tables.table1,
    ),
    "table2": Target(
        "data and models: clients, examples, parameters",
        EVERY,
        lambda found: TargetOutput(tables.table2(found.rows, found.data)),
    ),
    "table3": _of_runs(
        "accuracy of eight methods without a shift", EVERY, tables.table3_parts, tables.table3
    ),
    "table4": _of_runs(
        "accuracy of six methods under three shifts", EVERY, tables.table4_parts, tables.table4
    ),
    "figure-motivation": _of_runs(
        "accuracy and discrepancy over rounds, of Table 1",
        MNIST,
        tables.table1_parts,
        draw=figures.motivation,
    ),
    "figure-accuracy": _of_runs(
        "accuracy, loss and discrepancy on MNIST",
        ("mnist-mclr", "mnist-mlp", "mnist-cnn"),
        figures.accuracy_parts,
        draw=figures.accuracy,
    ),
    "figure-shift": _of_runs(
        "accuracy over rounds under three shifts",
        EVERY,
        tables.table4_parts,
        draw=figures.shift,
        usual=("mnist-mclr", "femnist-cnn", "fashion-mnist-cnn"),
    ),
    "figure-eta": _of_runs(
        "rates of inter-group aggregation, eta_g",
        tuple(figures.SHARING),
        figures.eta_parts,
        draw=figures.eta,
    ),
    "figure-overhead": _of_runs(
        "communication against accuracy, with IFCA-MIG and FeSEM-MIG",
        tuple(figures.COSTLY),
        figures.overhead_parts,
        figures.overhead_table,
        figures.overhead,
    ),
    "choices": _of_runs(
        "what each choice that the paper leaves does to its numbers",
        EVERY,
        own_tables.choices_parts,
        own_tables.choices,
        usual=("mnist-mclr", "femnist-mclr", "synthetic-mclr"),
    ),
    "algorithms": _of_runs(
        "every algorithm on the same cohorts, without a shift and under each",
        ("mnist-mclr", "synthetic-mclr"),
        own_tables.algorithms_parts,
        own_tables.algorithms,
    ),
    "beyond": _of_runs(
        "one configuration of ours beside the best method of each row",
        own_tables.BEYOND_ROWS,
        own_tables.beyond_parts,
        own_tables.beyond,
    ),
    "bound": Target("the convergence bound beside measured divergence", MNIST, _bound),
}


def target_named(name: str) -> Target:
    """Return a target, or raise the sentence with the nearest name that exists."""
    if name not in TARGETS:
        raise SettingsError(unknown("table or figure", name, TARGETS))
    return TARGETS[name]
