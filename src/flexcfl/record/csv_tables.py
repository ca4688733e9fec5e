"""Tables written as CSV and read back: integers and floats keep their values and types."""

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from math import isfinite
from typing import Any, get_type_hints

import numpy as np
from numpy.typing import NDArray

from flexcfl.protocol import NO_GROUP, Ids
from flexcfl.protocol.cohorts import NEVER
from flexcfl.record.tables import Columns

LARGEST = 2**53  # a larger integer may have no exact float


def to_csv(rows: Iterable[Sequence[object]]) -> str:
    """Return rows as CSV: a float is written as its repr, None as an empty cell."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def columns_to_csv(columns: Columns) -> str:
    """Return columns as CSV, with a header line."""
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return to_csv([tuple(columns), *rows])


def clients_to_csv(
    group_of: Ids, arrival: Ids, structure: Ids | None, names: Sequence[str] = ()
) -> str:
    """Return a CSV line per client: its group, its arrival, its true cluster and its name."""
    groups = [None if group == NO_GROUP else group for group in group_of.tolist()]
    true = [None] * len(groups) if structure is None else structure.tolist()
    came = [None if number == NEVER else number for number in arrival.tolist()]
    called: Sequence[str | None] = names or [None] * len(groups)
    rows = zip(range(len(groups)), groups, came, true, called, strict=True)
    return to_csv([("client", "group", "arrival", "structure", "name"), *rows])


def read_columns(text: bytes, needed: Iterable[str]) -> Columns:
    """Return the columns of a table that is written in one piece.

    Raises ``ValueError`` or ``csv.Error`` if the text is not such a table, or if a ``needed``
    column does not hold integers.
    """
    decoded = text.decode("utf-8")
    if not decoded.endswith("\n"):
        raise ValueError("its last line is incomplete")
    head, *lines = csv.reader(io.StringIO(decoded, newline=""))
    cells = zip(*lines, strict=True) if lines else [()] * len(head)
    table = {name: _column(name, column) for name, column in zip(head, cells, strict=True)}
    if any(table[name].dtype != np.int64 for name in needed):
        raise ValueError("it has other columns")
    return table


def _column(name: str, cells: Iterable[str]) -> NDArray[Any]:
    """Return a column of numbers: integers where all are whole, except coordinates."""
    if name == "name":
        return np.array(list(cells), dtype=np.object_)
    values = np.array([float(cell) if cell else np.nan for cell in cells])
    integral = (np.abs(values) < LARGEST).all() and (values == np.round(values)).all()
    return values.astype(np.int64) if integral and not name.startswith("x") else values


def read_rows(text: bytes, kind: type[Any]) -> list[Any]:
    """Return the rows of a table as objects of a class, or raise ``ValueError``."""
    head, *lines = map(_cells, text.decode("ascii").removesuffix("\n").split("\n"))
    hints = get_type_hints(kind)
    readers = {each.name: _reader(hints[each.name]) for each in fields(kind)}
    if head != list(readers):
        raise ValueError("it has other columns")
    return [
        kind(*(read(cell) for read, cell in zip(readers.values(), line, strict=True)))
        for line in lines
    ]


def _cells(line: str) -> list[str]:
    """Return the cells of a line; a list of very many clients can be too long for ``csv``."""
    return next(csv.reader([line])) if '"' in line else line.split(",")


def _reader(hint: Any) -> Callable[[str], Any]:
    if hint in READERS:
        return READERS[hint]
    inner = READERS[next(each for each in hint.__args__ if each is not type(None))]
    return lambda cell: inner(cell) if cell else None


def _whole(cell: str) -> int:
    number = int(cell)
    if abs(number) >= 2**63:
        raise ValueError(cell)
    return number


def _figure(cell: str) -> float:
    number = float(cell)
    if not isfinite(number):
        raise ValueError(cell)
    return number


READERS: Mapping[type[Any], Callable[[str], Any]] = {int: _whole, float: _figure, str: str}
