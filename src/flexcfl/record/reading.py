"""The one reader of run folders, finished or not; damaged files raise an error.

Lists and pages of runs use ``read`` and ``read_outline``, comparisons and reproductions
``read_back``, ``flexcfl.load`` uses ``read_contents``, and ``flexcfl.resume``
``rows_at_checkpoint``.
"""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import numpy as np

from flexcfl import disk
from flexcfl.errors import SettingsError
from flexcfl.experiment import toml
from flexcfl.experiment.experiment import Experiment
from flexcfl.protocol import NO_GROUP, Ids, numbers
from flexcfl.record import lifecycle
from flexcfl.record.checkpoints import UnfitError
from flexcfl.record.checks import (
    MOST_CLIENTS,
    check_finished,
    check_numbers,
    check_settings,
    check_table,
    difference,
)
from flexcfl.record.csv_tables import read_columns, read_rows
from flexcfl.record.folder import CLIENTS, EXPERIMENT, FOUNDERS, LABELS, SUMMARY, Extent
from flexcfl.record.record import Record, empty_table
from flexcfl.record.summary import Summary, check_summary
from flexcfl.record.tables import GROUPS, MEMBERSHIP, ROUNDS, SHIFTS, TABLES, Columns, columns
from flexcfl.settings import excess

DEPTH = 3  # the runs of a reproduction are this far below its folder
MOST_BYTES, LONGEST = 2**20, 2**30  # of the summary, and of a table
# Tables that are written in one piece, with the integer columns that they must have.
WHOLE: Mapping[str, tuple[str, ...]] = {
    CLIENTS: ("client",),
    LABELS: ("client", "label", "train", "test"),
    FOUNDERS: ("client", "group"),
}
FILES = (EXPERIMENT, *TABLES, *WHOLE, SUMMARY)  # all files that are read
# What damaged files raise; RecursionError comes from endless nesting.
TROUBLES = (OSError, ValueError, KeyError, csv.Error, RecursionError)


class DamageError(ValueError):
    """A file of a run is damaged; ``file`` is its name."""

    def __init__(self, file: str, reason: object) -> None:
        super().__init__(str(reason))
        self.file = file


def read_contents(path: Path, names: Iterable[str] = FILES) -> Record:
    """Return a run so far: its settings, its summary, and the tables of these file names.

    Raises ``DamageError`` if a file is damaged, or ``SettingsError`` if ``experiment.toml`` is not
    TOML.
    """
    with _damage(EXPERIMENT):
        content = disk.read(path / EXPERIMENT, toml.MOST_BYTES + 1)
        settings = toml.parsed(content, str(path / EXPERIMENT))
        check_settings(settings)
    with _damage(SUMMARY):  # before the tables: if it is there, they are complete
        summary = _summary(path / SUMMARY)
    tables = {name: _table(path / name) for name in (*TABLES, *WHOLE) if name in names}
    called = tuple(tables.get(CLIENTS, {}).get("name", np.empty(0)).tolist())
    return Record(
        settings=settings,
        text=content.decode("utf-8-sig"),
        tables={name: table for name, table in tables.items() if name in TABLES},
        labels=tables.get(LABELS, empty_table(*WHOLE[LABELS])),
        founders=tables.get(FOUNDERS, empty_table(*WHOLE[FOUNDERS])),
        group_of=_group_of(tables),
        summary=summary,
        folder=path,
        names=called if any(called) else (),
    )


@contextmanager
def _damage(file: str) -> Iterator[None]:
    try:
        yield
    except TROUBLES as error:
        raise DamageError(file, error) from None


def _summary(file: Path) -> Summary | None:
    try:
        content = disk.read(file, MOST_BYTES + 1)
    except FileNotFoundError:
        return None
    found = json.loads(content, parse_constant=_no_number) if len(content) <= MOST_BYTES else None
    if not isinstance(found, dict) or excess(found):
        raise ValueError(SUMMARY)
    check_summary(found)
    return cast(Summary, found)


def _no_number(name: str) -> float:
    raise ValueError(f"{name} in {SUMMARY}")


def _table(path: Path) -> Columns:
    with _damage(path.name):
        size = path.lstat().st_size if path.is_symlink() or path.exists() else 0
        if size > LONGEST:
            raise ValueError(f"{path.name} of {size:,} bytes")
        table = columns(path.name, rows_so_far(path)) if path.name in TABLES else _whole(path)
        check_table(path.name, table)
        return table


def rows_so_far(path: Path) -> list[Any]:
    """Return the rows of a table that a run, finished or not, has written so far.

    Not all tables may have the last round yet. Raises ``ValueError`` if the file is not a table of
    a run.
    """
    try:
        text = disk.read(path)
    except FileNotFoundError:
        return []
    whole = text[: text.rfind(b"\n") + 1]  # a process may be writing the last line
    try:
        return read_rows(whole, TABLES[path.name].row) if whole else []
    except (ValueError, csv.Error):
        raise ValueError(path.name) from None


def _whole(path: Path) -> Columns:
    """Return a table that is written in one piece; a missing one and an empty one are the same."""
    needed = WHOLE[path.name]
    try:
        table = read_columns(disk.read(path), needed)
    except FileNotFoundError:
        table = {}
    except (ValueError, KeyError, csv.Error):
        raise ValueError(path.name) from None
    return table if any(map(len, table.values())) else empty_table(*needed)


def _group_of(tables: Mapping[str, Columns]) -> Ids:
    """Return the current group of every client that occurs in any table."""
    named = [tables[name]["client"] for name in (*WHOLE, MEMBERSHIP) if name in tables]
    with _damage(SHIFTS):
        shifts = tables.get(SHIFTS, {}).get("clients", ())
        named += [numbers(str(clients)) for clients in shifts]
        most = max((int(clients.max(initial=-1)) for clients in named), default=-1)
        check_numbers("client", np.array([most]), -1, MOST_CLIENTS - 1)
    if len(tables.get(CLIENTS, {}).get("client", ())) not in (0, most + 1):
        raise DamageError(CLIENTS, CLIENTS)
    group_of = np.full(most + 1, NO_GROUP, dtype=np.int64)
    for name in (MEMBERSHIP, CLIENTS):  # the second is there once the run is finished
        table = tables.get(name, {})
        if "group" in table:
            groups = np.asarray(table["group"], dtype=np.float64)
            group_of[table["client"]] = np.where(np.isnan(groups), NO_GROUP, groups)
    return group_of


def rows_at_checkpoint(
    folder: Path, extents: Mapping[str, Extent], rounds: int
) -> Mapping[str, list[Any]]:
    """Return the rows of all tables as of a checkpoint, or raise ``UnfitError``."""
    found = {name: _known(folder / name, extents.get(name, Extent())) for name in TABLES}
    given = [each.round for each in found[ROUNDS]]
    # Their number first, because a damaged checkpoint may claim any number of rounds.
    if len(given) != rounds or given != list(range(1, rounds + 1)):
        raise UnfitError(f"'{ROUNDS}' does not have the rounds 1 to {rounds}")
    return found


def _known(path: Path, extent: Extent) -> list[Any]:
    if extent == Extent():
        return []
    try:
        text = disk.read(path)[: extent.length]
    except OSError as error:
        raise UnfitError(f"'{path.name}' cannot be read ({error.strerror})") from None
    if Extent().plus(text) != extent:
        raise UnfitError(f"'{path.name}' has changed since the checkpoint was made")
    try:
        return read_rows(text, TABLES[path.name].row)
    except (ValueError, csv.Error):
        raise UnfitError(f"'{path.name}' is not a table of a run") from None


def find_runs(paths: Iterable[Path]) -> list[Path]:
    """Return all folders of runs among these paths and below them."""
    folders = [folder for path in paths for folder in _within(path)]
    # By their targets, because a folder may be given twice, or also through a link.
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
    """Whether a run has begun: until then its file is empty."""
    try:
        return file.stat().st_size > 0
    except OSError:  # it is gone by now, or is a broken link
        return False


def read(path: Path) -> Record:
    """Return a run so far, or raise ``SettingsError`` if its files are damaged."""
    with as_damage_error(path):
        return read_contents(path)


def read_outline(path: Path) -> Record:
    """Return a run for a list: settings and summary, and its rounds if it has no summary.

    This takes a tenth of the time of ``read``.
    """
    with as_damage_error(path):
        run = read_contents(path, [])
        return read_contents(path, [ROUNDS]) if run.summary is None else run


@contextmanager
def as_damage_error(path: Path) -> Iterator[None]:
    """Turn the errors of damaged files into a ``SettingsError``."""
    try:
        yield
    except TROUBLES as error:
        raise SettingsError(
            f"The run in '{path}' cannot be shown, because its files are damaged or of another "
            f"version ({error!s:.200}): leave it out, or run it again."
        ) from None


def is_finished(path: Path) -> bool:
    """Whether the run in a folder is finished; a link is refused and not followed."""
    if path.is_symlink():
        raise SettingsError(f"'{path}' is a link, not the folder of a run: move it away.")
    return lifecycle.is_finished(path)


def check_whole(run: Record) -> None:
    """Raise ``DamageError`` unless a run is finished and its tables have all rounds."""
    with _damage(SUMMARY):
        check_finished(run.summary or {}, run.settings)
    if run.done != run.total:
        raise DamageError(ROUNDS, ROUNDS)
    if run.groups["round"][-1:].tolist() not in ([], [run.total]):
        raise DamageError(GROUPS, GROUPS)


def read_back(path: Path, experiment: Experiment, names: Iterable[str] = (ROUNDS,)) -> Record:
    """Return a finished run with these tables; its folder must be one of this experiment."""
    other = None
    try:
        run = read_contents(path, names)
        other = difference(run.settings, experiment.tables())
        if not other:
            check_whole(run)
    except (DamageError, SettingsError) as error:  # the latter if the settings are not TOML
        file = getattr(error, "file", EXPERIMENT)
        raise SettingsError(
            f"'{path / file}' is damaged: move the folder '{path}' away, and the run is repeated."
        ) from None
    if other:
        raise SettingsError(
            f"The run in '{path}' is another one ({other} differs): move its folder away."
        )
    lifecycle.tidy(path)
    return run
