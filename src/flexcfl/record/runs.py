"""Run folders as a page shows them, finished or not; of what is damaged nothing is believed."""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np

from flexcfl import disk
from flexcfl.errors import SettingsError
from flexcfl.experiment import toml
from flexcfl.experiment.experiment import Tables as Settings
from flexcfl.protocol import numbers
from flexcfl.record import reading
from flexcfl.record.checks import (
    MOST_CLIENTS,
    check_costs,
    check_numbers,
    check_record,
    check_rounds,
    check_settings,
)
from flexcfl.record.folder import CLIENTS, EXPERIMENT, FOUNDERS, LABELS, SUMMARY
from flexcfl.record.record import Record
from flexcfl.record.summary import Summary
from flexcfl.record.tables import (
    GROUPS,
    LEDGER,
    MEMBERSHIP,
    ROUNDS,
    SHIFTS,
    TABLES,
    Columns,
    HasTables,
    RoundFigures,
    Rows,
    columns,
    tabled,
)
from flexcfl.settings import excess

__all__ = ["FILES", "Outline", "RunRead", "damage_told", "found", "outline", "read"]

DEPTH = 3  # a reproduction's runs are so far below its folder
MOST_BYTES, LONGEST = 2**20, 2**30  # of the summary, and of a table
# Tables that are written whole, with their columns of whole numbers that there must be.
WHOLE: Mapping[str, Sequence[str]] = {
    CLIENTS: ["client"],
    LABELS: ["client", "label", "train", "test"],
    FOUNDERS: ["client", "group"],
}
FILES = (EXPERIMENT, *TABLES, *WHOLE, SUMMARY)  # all that is read
# What reading damaged files ends with; nesting without end is the last.
TROUBLES = (OSError, ValueError, KeyError, csv.Error, RecursionError)


@dataclass(frozen=True, eq=False)
class RunRead(HasTables):
    """A run as its folder tells it: its ``settings``, the ``text`` of their file, its tables.

    ``summary`` is None while the run is not finished, and ``rows`` are those of its tables so far.
    """

    path: Path
    settings: Settings
    text: str
    summary: Summary | None
    record: Record
    rows: Rows
    tables: Mapping[str, Columns]


@dataclass(frozen=True, eq=False)
class Outline:
    """As much of a run as a list of runs shows; ``rounds`` are those so far of one not finished."""

    path: Path
    settings: Settings
    summary: Summary | None
    rounds: Sequence[RoundFigures] = ()


def found(paths: Iterable[Path]) -> list[Path]:
    """Return the folders of runs that are named, or lie within folders that are named."""
    folders = [folder for path in paths for folder in _within(path)]
    # By where they lead, as one may be named twice, or by a link beside it.
    return list({folder.resolve(): folder for folder in reversed(folders)}.values())[::-1]


def _within(path: Path) -> list[Path]:
    if not path.is_dir():
        raise SettingsError(
            f"'{path}' is not a folder: name the folder of a run, or one with runs in it."
        )
    patterns = ["/".join(["*"] * depth + [EXPERIMENT]) for depth in range(DEPTH + 1)]
    files = [file for pattern in patterns for file in sorted(path.glob(pattern))]
    begun = [file.parent for file in files if _begun(file)]
    if not begun:
        raise SettingsError(
            f"There is no run in '{path}': name a folder that 'flexcfl run', 'compare' or "
            "'reproduce' printed."
        )
    return begun


def _begun(file: Path) -> bool:
    """Whether a run has begun: an empty file claims a folder for one that has not."""
    try:
        return file.stat().st_size > 0
    except OSError:  # it has gone meanwhile, or leads nowhere
        return False


def read(path: Path) -> RunRead:
    """Return what is known of a run so far."""
    with damage_told(path):
        _check_sizes(path)
        settings, text = _settings(path)
        rows = reading.so_far(path)
        tables = tabled(rows)
        record = _record(path, settings, tables)
        check_record(record)
        check_costs(tables[LEDGER])
        return RunRead(path, settings, text, _summary(path), record, rows, tables)


def outline(path: Path) -> Outline:
    """Return the settings of a run and its summary, or as long as it has none its rounds so far.

    It takes a tenth of the time of reading it all, for tables of who was where are left alone.
    """
    with damage_told(path):
        _check_sizes(path)
        settings, _ = _settings(path)
        summary = _summary(path)
        rounds = reading.so_far(path, [ROUNDS])[ROUNDS] if summary is None else []
        check_rounds(columns(ROUNDS, rounds))
        return Outline(path, settings, summary, rounds)


def _settings(path: Path) -> tuple[Settings, str]:
    content = disk.read(path / EXPERIMENT, toml.MOST_BYTES + 1)
    settings = toml.parsed(content, str(path / EXPERIMENT))
    check_settings(settings)
    return settings, content.decode("utf-8-sig")


@contextmanager
def damage_told(path: Path) -> Iterator[None]:
    """Say in a sentence that the files of a run are not what they should be."""
    try:
        yield
    except TROUBLES as error:
        raise SettingsError(
            f"The run in '{path}' cannot be shown, for its files are damaged or of another version "
            f"({error!s:.200}): leave it out, or run it again."
        ) from None


def _check_sizes(path: Path) -> None:
    for name in FILES:
        with suppress(FileNotFoundError):
            size = (path / name).lstat().st_size
            if size > LONGEST:
                raise ValueError(f"{name} of {size:,} bytes")


def _summary(path: Path) -> Summary | None:
    try:
        found = json.loads(disk.read(path / SUMMARY, MOST_BYTES), parse_constant=_no_number)
    except FileNotFoundError:
        return None
    if not isinstance(found, dict) or excess(found):
        raise ValueError(SUMMARY)
    return cast(Summary, found)


def _no_number(name: str) -> float:
    raise ValueError(f"{name} in {SUMMARY}")


def _record(path: Path, settings: Settings, tables: Mapping[str, Columns]) -> Record:
    known = {name: reading.whole(path / name, WHOLE[name]) for name in WHOLE}
    membership, shifts = (_unless_empty(tables[name]) for name in (MEMBERSHIP, SHIFTS))
    return Record(
        method=settings["algorithm"]["name"],
        seed=settings["run"]["seed"],
        total=settings["run"]["rounds"],
        clients=_number([*known.values(), membership], shifts),
        rounds=tables[ROUNDS],
        groups=_unless_empty(tables[GROUPS]),
        membership=membership,
        shifts=shifts,
        labels=known[LABELS],
        founders=known[FOUNDERS],
        names=known[CLIENTS].get("name", np.empty(0)).tolist(),
    )


def _number(tables: Iterable[Columns], shifts: Columns) -> int:
    """Return how many clients there are, as far as any table knows."""
    named = [table["client"] for table in tables if table]
    named += [numbers(str(clients)) for clients in shifts.get("clients", ())]
    most = max((int(clients.max()) for clients in named), default=-1)
    check_numbers("client", np.array([most]), -1, MOST_CLIENTS - 1)
    return most + 1


def _unless_empty(table: Columns) -> Columns:
    return table if len(table["round"]) else {}
