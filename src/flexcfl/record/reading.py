"""The tables of a run read back: as far as a checkpoint knows them, or as far as they go."""

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from math import isfinite
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
from numpy.typing import NDArray

from flexcfl import disk
from flexcfl.record.checkpoints import UnfitError
from flexcfl.record.folder import Extent
from flexcfl.record.tables import ROUNDS, TABLES

__all__ = ["rows", "so_far", "whole"]

LARGEST = 2**53  # beyond it not every whole number is a float


def rows(folder: Path, extents: Mapping[str, Extent], rounds: int) -> Mapping[str, list[Any]]:
    """Return the rows of all tables up to their extents, or raise ``UnfitError``."""
    found = {name: _table(folder / name, table.row, extents) for name, table in TABLES.items()}
    numbers = [each.round for each in found[ROUNDS]]
    # By their number first: who says how many there are may say anything.
    if len(numbers) != rounds or numbers != list(range(1, rounds + 1)):
        raise UnfitError(f"'{ROUNDS}' does not have the rounds 1 to {rounds}")
    return found


def _table(path: Path, kind: type[Any], extents: Mapping[str, Extent]) -> list[Any]:
    extent = extents.get(path.name, Extent())
    if extent == Extent():
        return []
    try:
        text = disk.read(path)[: extent.length]
    except OSError as error:
        raise UnfitError(f"'{path.name}' cannot be read ({error.strerror})") from None
    if Extent().plus(text) != extent:
        raise UnfitError(f"'{path.name}' is not as it was when the checkpoint was made")
    try:
        return _understood(kind, text)
    except (ValueError, csv.Error):
        raise UnfitError(f"'{path.name}' is not a table of a run") from None


def so_far(folder: Path, names: Iterable[str] = TABLES) -> Mapping[str, list[Any]]:
    """Return the rows of tables that a run, which may be going on, has written down so far.

    The last round may not be in all of them yet. ``ValueError`` if a file is no table of a run.
    """
    return {name: _grown(folder / name, TABLES[name].row) for name in names}


def _grown(path: Path, kind: type[Any]) -> list[Any]:
    try:
        text = disk.read(path)
    except FileNotFoundError:
        return []
    whole = text[: text.rfind(b"\n") + 1]  # somebody may be writing the last line
    try:
        return _understood(kind, whole) if whole else []
    except (ValueError, csv.Error):
        raise ValueError(path.name) from None


def whole(path: Path, needed: Iterable[str]) -> dict[str, NDArray[Any]]:
    """Return a table that is written whole, without lines as if it were not there."""
    try:
        text = disk.read(path).decode("utf-8")
    except FileNotFoundError:
        return {}
    if not text.endswith("\n"):
        raise ValueError(path.name)
    head, *lines = csv.reader(io.StringIO(text, newline=""))
    cells = zip(*lines, strict=True) if lines else [()] * len(head)
    table = {name: _column(name, column) for name, column in zip(head, cells, strict=True)}
    if any(table[name].dtype != np.int64 for name in needed):
        raise ValueError(path.name)
    return table if lines else {}


def _column(name: str, cells: Iterable[str]) -> Any:
    """Return a column of numbers; whole ones stay so, but for those of points."""
    if name == "name":
        return np.array(list(cells), dtype=np.object_)
    values = np.array([float(cell) if cell else np.nan for cell in cells])
    integral = (np.abs(values) < LARGEST).all() and (values == np.round(values)).all()
    return values.astype(np.int64) if integral and not name.startswith("x") else values


def _understood(kind: type[Any], text: bytes) -> list[Any]:
    head, *lines = map(_cells, text.decode("ascii").removesuffix("\n").split("\n"))
    return _parsed(kind, head, lines)


def _cells(line: str) -> list[str]:
    """Return the cells of a line, of which spans of very many clients are too long for ``csv``."""
    return next(csv.reader([line])) if '"' in line else line.split(",")


def _parsed(kind: type[Any], head: Sequence[str], lines: Sequence[Sequence[str]]) -> list[Any]:
    hints = get_type_hints(kind)
    readers = {each.name: _reader(hints[each.name]) for each in fields(kind)}
    if list(head) != list(readers):
        raise ValueError(head)
    return [
        kind(*(read(cell) for read, cell in zip(readers.values(), line, strict=True)))
        for line in lines
    ]


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
