"""Everything that can be reproduced, by name: its runs, its table and its picture."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from flexcfl.errors import SettingsError, unknown
from flexcfl.paper import bound, figures, tables
from flexcfl.paper.algorithms import algorithms, algorithms_parts
from flexcfl.paper.beyond import ROWS as BEYOND
from flexcfl.paper.beyond import beyond, beyond_parts
from flexcfl.paper.bound_drawing import draw
from flexcfl.paper.cells import Part
from flexcfl.paper.measured_choices import choices, choices_parts
from flexcfl.paper.results import Result
from flexcfl.paper.rows import ROWS, Row, family
from flexcfl.paper.sheet import Sheet
from flexcfl.paper.sizes import table2

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["TARGETS", "Found", "Made", "Target", "target_named"]

ALGORITHMS = ("mnist-mclr", "synthetic-mclr")
LINEAR = ("mnist-mclr", "femnist-mclr", "synthetic-mclr")


@dataclass(frozen=True)
class Found:
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
class Made:
    """What comes of a target: a table, how to draw its picture, and further files by ending."""

    sheet: Sheet | None = None
    draw: "Callable[[], Figure] | None" = None
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Target:
    """A table or a figure.

    ``rows`` are those that it can have and ``usual`` those that it has unless told otherwise.
    ``parts(row)`` are the runs that a row needs.
    """

    summary: str
    rows: Sequence[str]
    make: Callable[[Found], Made]
    parts: Callable[[Row], Sequence[Part]] = lambda row: ()
    usual: Sequence[str] | None = None

    @property
    def has_runs(self) -> bool:
        """Whether it is made of runs."""
        return any(self.parts(ROWS[name]) for name in self.rows)


def _table(of: Callable[[Sequence[Result]], Sheet]) -> Callable[[Found], Made]:
    return lambda found: Made(of(found.results))


def _figure(of: "Callable[[Sequence[Result]], Figure]") -> Callable[[Found], Made]:
    return lambda found: Made(draw=partial(of, found.drawn))


def _overhead(found: Found) -> Made:
    drawn = partial(figures.overhead, found.drawn)
    return Made(figures.overhead_sheet(found.results), drawn)


def _bound(found: Found) -> Made:
    measured = bound.measured(found.data)
    return Made(bound.sheet(measured), partial(draw, measured), {"epochs": bound.csv(measured)})


TARGETS: Mapping[str, Target] = {
    "table1": Target(
        "motivation: FedAvg with 1, 3, 5 and 10 classes a client",
        ("mnist-mclr",),
        _table(tables.table1),
        tables.table1_parts,
    ),
    "table2": Target(
        "data and models: clients, examples, parameters",
        tuple(ROWS),
        lambda found: Made(table2(found.rows, found.data)),
    ),
    "table3": Target(
        "accuracy of eight methods without a shift",
        tuple(ROWS),
        _table(tables.table3),
        tables.table3_parts,
    ),
    "table4": Target(
        "accuracy of six methods under three shifts",
        tuple(ROWS),
        _table(tables.table4),
        tables.table4_parts,
    ),
    "figure-motivation": Target(
        "accuracy and discrepancy over rounds, of Table 1",
        ("mnist-mclr",),
        _figure(figures.motivation),
        tables.table1_parts,
    ),
    "figure-accuracy": Target(
        "accuracy, loss and discrepancy on MNIST",
        ("mnist-mclr", "mnist-mlp", "mnist-cnn"),
        _figure(figures.accuracy),
        figures.accuracy_parts,
    ),
    "figure-shift": Target(
        "accuracy over rounds under three shifts",
        tuple(ROWS),
        _figure(figures.shift),
        figures.shift_parts,
        usual=("mnist-mclr", "femnist-cnn", "fashion-mnist-cnn"),
    ),
    "figure-eta": Target(
        "rates of inter-group aggregation, eta_g",
        tuple(figures.SHARING),
        _figure(figures.eta),
        figures.eta_parts,
    ),
    "figure-overhead": Target(
        "communication against accuracy, with IFCA-MIG and FeSEM-MIG",
        tuple(figures.COSTLY),
        _overhead,
        figures.overhead_parts,
    ),
    "choices": Target(
        "what each choice that the paper leaves does to its numbers",
        tuple(ROWS),
        _table(choices),
        choices_parts,
        usual=LINEAR,
    ),
    "algorithms": Target(
        "every algorithm on the same cohorts, without a shift and under each",
        ALGORITHMS,
        _table(algorithms),
        algorithms_parts,
    ),
    "beyond": Target(
        "one configuration of ours beside the best method of each row",
        BEYOND,
        _table(beyond),
        beyond_parts,
    ),
    "bound": Target("the convergence bound beside measured divergence", ("mnist-mclr",), _bound),
}


def target_named(name: str) -> Target:
    """Return a target, or raise the sentence with the nearest name that exists."""
    if name not in TARGETS:
        raise SettingsError(unknown("table or figure", name, TARGETS))
    return TARGETS[name]
