"""The tables and figures that can be reproduced, by name, and requests for them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from flexcfl.errors import SettingsError, unknown
from flexcfl.paper import bound, figures, own_tables, tables
from flexcfl.paper.catalogue import ROUNDS, ROWS, PaperRow, family, rows_named
from flexcfl.paper.cells import Cell, Chosen, TablePart
from flexcfl.paper.comparison_table import ComparisonTable
from flexcfl.paper.results import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Parts: TypeAlias = Callable[[PaperRow], Sequence[TablePart]]
EVERY, MNIST = tuple(ROWS), ("mnist-mclr",)


@dataclass(frozen=True)
class TargetOutput:
    """The output of a target: a table, a function that draws its picture, and further files."""

    table: ComparisonTable | None = None
    draw: "Callable[[], Figure] | None" = None
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Target:
    """A table or a figure.

    ``rows`` are all rows that it can have, and ``usual`` its default rows, if not all.
    ``parts(row)`` are the runs that a row needs.
    """

    summary: str
    rows: Sequence[str]
    make: Callable[["Request", Sequence[Result]], TargetOutput]
    parts: Parts = lambda row: ()
    usual: Sequence[str] = ()


@dataclass(frozen=True)
class Request:
    """A request to reproduce a target; ``only`` names its rows, by default the usual ones."""

    target: str
    only: tuple[str, ...] = ()
    seeds: int = 1
    rounds: int = ROUNDS
    chosen: Chosen = ()
    data: Path | None = None

    @property
    def rows(self) -> tuple[PaperRow, ...]:
        """The requested rows."""
        target = target_named(self.target)
        return rows_named(self.only or target.usual or target.rows, target.rows)

    def parts(self, row: PaperRow) -> list[TablePart]:
        """Return the parts that the target needs for a row, with the choices made."""
        parts = list(target_named(self.target).parts(row))
        if self.chosen and (not parts or any(part.chosen for part in parts)):
            raise SettingsError(
                f"There is nothing to choose for '{self.target}': leave --choose out."
            )
        if not parts and (self.seeds, self.rounds) != (1, ROUNDS):
            raise SettingsError(f"'{self.target}' has no runs: leave --seeds and --rounds out.")
        return [part.choosing(self.chosen) if self.chosen else part for part in parts]

    def cells(self) -> list[Cell]:
        """Return the requested runs, the fastest rows first, seed by seed."""
        return [
            Cell(part, seed, self.rounds, self.data)
            for row in sorted(self.rows, key=lambda row: row.seconds)
            for seed in range(self.seeds)
            for part in self.parts(row)
        ]

    def drawn(self, results: Iterable[Result]) -> list[Result]:
        """Return the results that a picture shows: those of the requested rows."""
        names = [row.name for row in self.rows]
        return [result for result in results if family(result.cell.part.row) in names]


def _of_runs(
    summary: str,
    rows: Sequence[str],
    parts: Parts,
    table: Callable[[Sequence[Result]], ComparisonTable] | None = None,
    draw: "Callable[[Sequence[Result]], Figure] | None" = None,
    usual: Sequence[str] = (),
) -> Target:
    def make(request: Request, results: Sequence[Result]) -> TargetOutput:
        shown = table(results) if table else None
        return TargetOutput(shown, partial(draw, request.drawn(results)) if draw else None)

    return Target(summary, rows, make, parts, usual)


def _bound(request: Request, _: Sequence[Result]) -> TargetOutput:
    measured = bound.measure_bound(request.data)
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
        lambda request, _: TargetOutput(tables.table2(request.rows, request.data)),
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
    """Return the target, or raise an error with the nearest name."""
    if name not in TARGETS:
        raise SettingsError(unknown("table or figure", name, TARGETS))
    return TARGETS[name]
