"""Table 2 of the paper: clients, examples and parameters, counted from what is loaded here.

Duan et al.: Flexible Clustered Federated Learning for Client-Level Data Distribution Shift. IEEE
TPDS 2022, Table 2.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from flexcfl.paper import published
from flexcfl.paper.cells import Cell, Part
from flexcfl.paper.methods import METHODS
from flexcfl.paper.rows import Row
from flexcfl.paper.sheet import Entry, Sheet
from flexcfl.record.metrics import Figure
from flexcfl.runner.prepare import prepare

__all__ = ["table2"]

NOTE = (
    "Of Synthetic(1,1) no seed is known that gives the paper's number of examples; ours has seed 0."
)


def table2(rows: Sequence[Row], data: Path | None) -> Sheet:
    """Load every federation with its model, and count."""
    entries = [entry for row in rows for entry in _counted(row, data)]
    return Sheet("Table 2: data and models", entries, (NOTE,))


def _counted(row: Row, data: Path | None) -> Iterator[Entry]:
    prepared = prepare(Cell(Part(row, METHODS["fedavg"]), data=data).experiment)
    federation = prepared.federation
    examples = int(federation.train.offsets[-1] + federation.test.offsets[-1])
    names = ("clients", "examples", "parameters")
    found = (federation.clients, examples, prepared.engine.parameters)
    for name, ours, paper in zip(names, found, published.SIZES[row.name], strict=True):
        yield Entry((row.label,), name, Figure(ours, None), paper, {}, 0)
