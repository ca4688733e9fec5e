"""Every algorithm on the same cohorts, without a shift and under each: a table of our own."""

from collections.abc import Sequence

from flexcfl.paper import published
from flexcfl.paper.cells import Part
from flexcfl.paper.choices import NO_SHIFT
from flexcfl.paper.methods import METHODS
from flexcfl.paper.results import Result
from flexcfl.paper.rows import Row
from flexcfl.paper.sheet import Sheet
from flexcfl.paper.tables import READING, SHIFTS, accuracies

__all__ = ["algorithms", "algorithms_parts"]

MEASURED = (
    *("fedavg", "fedprox", "fedgroup", "flexcfl", "flexcfl-eta5", "flexcfl-rcc", "flexcfl-rac"),
    *("ifca", "ifca-mig", "fesem", "fesem-mig", "cfl", "flhc"),
)
ALIKE = (("cohorts", "same"),)
COHORTS = "All methods meet the same cohorts: every client once, then drawn at random."


def algorithms_parts(row: Row) -> list[Part]:
    """Return all algorithms on a row, under every shift and without one."""
    # With 100 clients all would be founders, and nobody would be left to be placed at random.
    refused = {name for name, paper in published.ACCURACY[row.name].items() if paper is None}
    names = [name for name in MEASURED if name not in refused]
    shifts = (NO_SHIFT, *SHIFTS)
    return [Part(row, METHODS[name], shift).choosing(ALIKE) for shift in shifts for name in names]


def algorithms(results: Sequence[Result]) -> Sheet:
    """Return the accuracy of every algorithm, with the paper's where it has one."""
    entries = accuracies(results)
    return Sheet("Every algorithm on the same cohorts", entries, (READING, COHORTS), scores=True)
