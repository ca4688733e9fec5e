"""Everything that can be reproduced, by name: its runs, its table and its picture."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from flexcfl.errors import SettingsError, unknown
from flexcfl.reproduction import figures, tables
from flexcfl.reproduction.cells import Part, Result
from flexcfl.reproduction.measured_choices import choices, choices_parts
from flexcfl.reproduction.rows import ROWS, Row
from flexcfl.reproduction.sheet import Sheet
from flexcfl.reproduction.sizes import table2

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["TARGETS", "Found", "Target", "target_named"]

LINEAR = ("mnist-mclr", "femnist-mclr", "synthetic-mclr")


@dataclass(frozen=True)
class Found:
    """What a target is made from: rows, where their data are, and runs that are finished."""

    rows: Sequence[Row]
    data: Path | None
    results: Sequence[Result]


@dataclass(frozen=True)
class Target:
    """A table or a figure.

    ``rows`` are those that it can have and ``usual`` those that it has unless told otherwise.
    ``parts(row)`` are the runs that a row needs.
    """

    summary: str
    rows: Sequence[str]
    parts: Callable[[Row], Sequence[Part]] = lambda row: ()
    sheet: Callable[[Found], Sheet] | None = None
    picture: "Callable[[Found], Figure] | None" = None
    usual: Sequence[str] | None = None


def _sheet(of: Callable[[Sequence[Result]], Sheet]) -> Callable[[Found], Sheet]:
    return lambda found: of(found.results)


def _picture(of: "Callable[[Sequence[Result]], Figure]") -> "Callable[[Found], Figure]":
    return lambda found: of(found.results)


TARGETS: Mapping[str, Target] = {
    "table1": Target(
        "motivation: FedAvg with 1, 3, 5 and 10 classes a client",
        ("mnist-mclr",),
        tables.table1_parts,
        _sheet(tables.table1),
    ),
    "table2": Target(
        "data and models: clients, examples, parameters",
        tuple(ROWS),
        sheet=lambda found: table2(found.rows, found.data),
    ),
    "table3": Target(
        "accuracy of eight methods without a shift",
        tuple(ROWS),
        tables.table3_parts,
        _sheet(tables.table3),
    ),
    "table4": Target(
        "accuracy of six methods under three shifts",
        tuple(ROWS),
        tables.table4_parts,
        _sheet(tables.table4),
    ),
    "figure-motivation": Target(
        "accuracy and discrepancy over rounds, of Table 1",
        ("mnist-mclr",),
        tables.table1_parts,
        picture=_picture(figures.motivation),
    ),
    "figure-accuracy": Target(
        "accuracy, loss and discrepancy on MNIST",
        ("mnist-mclr", "mnist-mlp", "mnist-cnn"),
        figures.accuracy_parts,
        picture=_picture(figures.accuracy),
    ),
    "figure-shift": Target(
        "accuracy over rounds under three shifts",
        tuple(ROWS),
        figures.shift_parts,
        picture=_picture(figures.shift),
        usual=("mnist-mclr", "femnist-cnn", "fashion-mnist-cnn"),
    ),
    "figure-eta": Target(
        "rates of inter-group aggregation, eta_g",
        tuple(figures.SHARING),
        figures.eta_parts,
        picture=_picture(figures.eta),
    ),
    "figure-overhead": Target(
        "communication against accuracy, with IFCA-MIG and FeSEM-MIG",
        tuple(figures.COSTLY),
        figures.overhead_parts,
        _sheet(figures.overhead_sheet),
        _picture(figures.overhead),
    ),
    "choices": Target(
        "what each choice that the paper leaves does to its numbers",
        tuple(ROWS),
        choices_parts,
        _sheet(choices),
        usual=LINEAR,
    ),
}


def target_named(name: str) -> Target:
    """Return a target, or raise the sentence with the nearest name that exists."""
    if name not in TARGETS:
        raise SettingsError(unknown("table or figure", name, TARGETS))
    return TARGETS[name]
