"""Run folders as a page shows them, finished or not; of what is damaged nothing is believed."""

import csv
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from flexcfl import disk
from flexcfl.charts import Columns, Record
from flexcfl.errors import SettingsError
from flexcfl.runner import reading, toml
from flexcfl.runner.experiment import Tables
from flexcfl.runner.folder import EXPERIMENT, LABELS, SUMMARY, TABLES
from flexcfl.runner.leaving import CLIENTS, FOUNDERS
from flexcfl.runner.result import columns

__all__ = ["RunRead", "found", "read"]

DEPTH = 3  # a reproduction's runs are so far below its folder
MOST_BYTES = 2**20


@dataclass(frozen=True, eq=False)
class RunRead:
    """A run as its folder tells it: ``tables`` are its settings, ``text`` the file of them.

    ``summary`` is None while the run is not finished.
    """

    path: Path
    tables: Tables
    text: str
    summary: Mapping[str, Any] | None
    record: Record


def found(paths: Iterable[Path]) -> list[Path]:
    """Return the folders of runs that are named, or lie within folders that are named."""
    folders = [folder for path in paths for folder in _within(path)]
    return list(dict.fromkeys(folders))


def _within(path: Path) -> list[Path]:
    if not path.is_dir():
        raise SettingsError(
            f"'{path}' is not a folder: name the folder of a run, or one with runs in it."
        )
    patterns = ["/".join(["*"] * depth + [EXPERIMENT]) for depth in range(DEPTH + 1)]
    files = [file for pattern in patterns for file in sorted(path.glob(pattern))]
    # An empty file claims a folder for a run that has not begun.
    begun = [file.parent for file in files if file.stat().st_size]
    if not begun:
        raise SettingsError(
            f"There is no run in '{path}': name a folder that 'flexcfl run', 'compare' or "
            "'reproduce' printed."
        )
    return begun


def read(path: Path) -> RunRead:
    """Return what is known of a run so far."""
    tables = toml.read(path / EXPERIMENT)
    try:
        rows = reading.so_far(path)
        summary = _summary(path)
        record = _record(path, tables, rows)
    except (OSError, ValueError, KeyError, TypeError, IndexError, csv.Error) as error:
        raise SettingsError(
            f"The run in '{path}' cannot be shown, for its files are damaged or of another version "
            f"({error}): leave it out, or run it again."
        ) from None
    text = disk.read(path / EXPERIMENT, MOST_BYTES).decode("utf-8", "replace")
    return RunRead(path, tables, text, summary, record)


def _summary(path: Path) -> Mapping[str, Any] | None:
    try:
        found = json.loads(disk.read(path / SUMMARY, MOST_BYTES))
    except FileNotFoundError:
        return None
    if not isinstance(found, dict):
        raise ValueError(SUMMARY)
    return found


def _record(path: Path, tables: Tables, rows: Mapping[str, list[Any]]) -> Record:
    tabled = {name.removesuffix(".csv"): columns(TABLES[name], rows[name]) for name in rows}
    clients, labels = _columns(path / CLIENTS), _columns(path / LABELS)
    names = clients.pop("name", np.empty(0)).tolist()
    return Record(
        method=str(tables["algorithm"]["name"]),
        seed=int(tables["run"]["seed"]),
        total=int(tables["run"]["rounds"]),
        clients=_number(clients, labels, tabled["membership"]),
        rounds=tabled["rounds"],
        groups=_unless_empty(tabled["groups"]),
        membership=_unless_empty(tabled["membership"]),
        shifts=_unless_empty(tabled["shifts"]),
        labels=labels,
        founders=_columns(path / FOUNDERS),
        names=[str(name) for name in names],
    )


def _number(*tables: Columns) -> int:
    """Return how many clients there are, by the first table that knows them."""
    known = (table["client"] for table in tables if table and len(table["client"]))
    return max((int(clients.max()) + 1 for clients in known), default=0)


def _unless_empty(table: Columns) -> Columns:
    return table if table and len(table["round"]) else {}


def _columns(path: Path) -> dict[str, Any]:
    """Return a table that is written whole; whole numbers stay so."""
    try:
        text = disk.read(path).decode("utf-8")
    except FileNotFoundError:
        return {}
    head, *lines = csv.reader(text.splitlines())
    cells = zip(*lines, strict=True) if lines else [()] * len(head)
    return {name: _column(name, column) for name, column in zip(head, cells, strict=True)}


def _column(name: str, cells: Iterable[str]) -> Any:
    if name == "name":
        return np.array(list(cells), dtype=np.str_)
    values = np.array([float(cell) if cell else np.nan for cell in cells])
    whole = not np.isnan(values).any() and (values == np.round(values)).all()
    return values.astype(np.int64) if whole and not name.startswith("x") else values
