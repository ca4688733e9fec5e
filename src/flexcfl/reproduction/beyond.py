"""Beyond the paper: one configuration of ours beside the best method of every row of Tables 3, 4.

How it was found, on which seeds, and what else was tried is in docs/replication.md.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from flexcfl.comparison.table import Figure
from flexcfl.reproduction.cells import Part, Result
from flexcfl.reproduction.choices import NO_SHIFT
from flexcfl.reproduction.methods import Method
from flexcfl.reproduction.rows import Row
from flexcfl.reproduction.sheet import Entry, Sheet
from flexcfl.reproduction.tables import (
    SHIFTS,
    by_method,
    by_setting,
    heading,
    score,
    table3_parts,
    table4_parts,
)

__all__ = ["OURS", "ROWS", "best_from", "beyond", "beyond_parts"]

ROWS = ("mnist-mclr", "mnist-mlp", "femnist-mclr", "femnist-mlp", "synthetic-mclr")
OURS = Method(
    "ours",
    "ours",
    "flexcfl",
    # Found on seeds 10 and 11: docs/decisions/0016-one-configuration.md.
    {"algorithm.groups": "auto", "algorithm.most_groups": 20, "algorithm.alpha": 10},
)
READING = (
    "Best accuracy over rounds in %, mean over the seeds; best of the tables is the method of "
    "Tables 3 and 4 that has most in this row, named at the left. All are scored from the first "
    "round in which every method is measured. The configuration was chosen on other seeds."
)


def beyond_parts(row: Row) -> list[Part]:
    """Return a row of both tables, and our configuration beside them."""
    ours = [Part(row, OURS, shift) for shift in (NO_SHIFT, *SHIFTS)]
    return [*table3_parts(row), *table4_parts(row), *ours]


def beyond(results: Sequence[Result]) -> Sheet:
    """Return our configuration beside the best of the tables, row by row."""
    entries = [entry for found in by_setting(results) for entry in _entries(found)]
    title = "Beyond the paper: one configuration in every row"
    return Sheet(title, entries, (READING,), ours="best")


def _entries(results: Sequence[Result]) -> Iterator[Entry]:
    """Yield nothing where our configuration has not run on all seeds that the others have."""
    methods = {mine[0].cell.part.method: mine for mine in by_method(results)}
    ours = methods.pop(OURS, [])
    if not methods or not ours:
        return
    first = max(_first(result) for result in results)
    name, best = max(methods.items(), key=lambda item: best_from(item[1], first).mean or 0.0)
    block = (*heading(results), f"best: {name.label}")
    for column, found in (("best of the tables", best), (OURS.label, ours)):
        yield Entry(
            block, column, best_from(found, first), None, {"last ten": score(found, "final")}
        )
    pairs = [(best_from(ours, first).mean, best_from(best, first).mean)]
    pairs += [(score(ours, "final").mean, score(best, "final").mean)]
    margin, final = (Figure(_less(*pair), None) for pair in pairs)
    yield Entry(block, "margin", margin, None, {"last ten": final})


def _first(result: Result) -> int:
    """Return the place of the first round that has an accuracy."""
    return int(np.flatnonzero(~np.isnan(result.rounds["accuracy"]))[0])


def best_from(results: Sequence[Result], first: int) -> Figure:
    """Return the best accuracy in % from a round on, in which all methods are measured."""
    return Figure.of(100 * float(np.nanmax(each.rounds["accuracy"][first:])) for each in results)


def _less(ours: float | None, best: float | None) -> float | None:
    return None if ours is None or best is None else ours - best
