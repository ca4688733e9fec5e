"""Results of finished cells, read from run folders and records, over the rounds that they share."""

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from flexcfl.errors import SettingsError
from flexcfl.paper.catalogue import ROUNDS
from flexcfl.paper.cells import RUNS, Cell, TablePart
from flexcfl.paper.records import CellRecord, read_records, record_file
from flexcfl.protocol import Flags
from flexcfl.record.metrics import Accuracy, measured_by_all
from flexcfl.record.reading import is_finished, read_back
from flexcfl.record.record import Record as RunRecord
from flexcfl.record.summary import Summary
from flexcfl.record.tables import GROUPS
from flexcfl.record.tables import ROUNDS as ROUNDS_CSV

ItemT = TypeVar("ItemT")
KeyT = TypeVar("KeyT", bound=Hashable)


def group_by(items: Iterable[ItemT], key: Callable[[ItemT], KeyT]) -> dict[KeyT, list[ItemT]]:
    """Return the items by their key, in the order of their first items."""
    groups: dict[KeyT, list[ItemT]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


@dataclass(frozen=True, eq=False)
class Result:
    """The result of a finished cell.

    ``summary`` is its ``summary.json``, and ``rounds`` has arrays by column of ``rounds.csv``, NaN
    if there is no figure. ``largest_group`` is the number of clients of the largest group at the
    end, if known. ``path`` is the run folder, or None if there is only a record. ``shared`` says
    for each round whether all runs of the comparison are measured in it; None means all rounds.
    """

    cell: Cell
    summary: Summary
    rounds: Mapping[str, NDArray[Any]]
    largest_group: int | None = None
    path: Path | None = None
    shared: Flags | None = None

    @property
    def setting(self) -> tuple[str, int]:
        """The setting and the number of rounds: results with the same ones are compared."""
        return self.cell.part.setting, self.cell.rounds

    @cached_property
    def accuracy(self) -> Accuracy:
        """The accuracy over the shared rounds."""
        return Accuracy.of(self.curve)

    @cached_property
    def curve(self) -> NDArray[np.float64]:
        """The accuracy of each shared round, NaN in all others."""
        curve: NDArray[np.float64] = self.rounds["accuracy"]
        return curve if self.shared is None else np.where(self.shared, curve, np.nan)

    @cached_property
    def record(self) -> CellRecord:
        """The record that replaces its folder."""
        return CellRecord.of(self.cell, self.summary, self.rounds, self.largest_group)


def finished_results(folder: Path, parts: Iterable[TablePart]) -> Iterator[Result]:
    """Yield the finished runs of the parts, with every seed and number of rounds that exists.

    If a run has both a folder and a record, they must have the same figures.
    """
    for setting, mine in group_by(dict.fromkeys(parts), lambda part: part.setting).items():
        records = read_records(folder, setting)
        for part in mine:
            found = {result.cell: result for result in _of_folders(folder, part)}
            for record in records:
                if record.method == part.name:
                    kept = _of_record(folder, part, record)
                    known = found.setdefault(kept.cell, kept)
                    check_same(known, known.path, kept, record_file(folder, setting))
            yield from sorted(found.values(), key=lambda each: (each.cell.seed, each.cell.rounds))


def check_same(one: Result, folder: Path | None, other: Result, other_folder: Path) -> None:
    """Raise if two results of one cell have different figures."""
    if one.record.figures != other.record.figures:
        raise SettingsError(
            f"{one.cell.title} has one result in '{folder}' and another in '{other_folder}': "
            "keep one of them."
        )


def _of_folders(folder: Path, part: TablePart) -> Iterator[Result]:
    for path in (folder / RUNS).glob(f"{part.setting}*/{part.name}-seed*"):
        setting = re.fullmatch(rf"{re.escape(part.setting)}(?:-rounds(\d+))?", path.parent.name)
        seed = re.fullmatch(rf"{re.escape(part.name)}-seed(\d+)", path.name)
        if setting and seed and is_finished(path):
            cell = Cell(part, int(seed[1]), int(setting[1] or ROUNDS))
            run = read_back(path, cell.experiment, (ROUNDS_CSV, GROUPS))
            yield Result(cell, cast(Summary, run.summary), run.rounds, _largest_group(run), path)


def _of_record(folder: Path, part: TablePart, record: CellRecord) -> Result:
    cell = Cell(part, record.seed, record.rounds)
    record.check(cell, folder)
    rounds = {name: np.array(curve, np.float64) for name, curve in record.curves.items()}
    return Result(cell, cast(Summary, record.summary), rounds, record.largest_group)


def _largest_group(run: RunRecord) -> int | None:
    clients = run.groups["clients"][run.groups["round"] == run.total]
    return int(clients.max()) if len(clients) else None


def over_shared_rounds(results: Iterable[Result]) -> list[Result]:
    """Return the results with accuracies over the rounds that all runs of a setting share."""
    results = list(results)
    shared = {
        setting: measured_by_all(result.rounds["accuracy"] for result in found)
        for setting, found in group_by(results, lambda result: result.setting).items()
    }
    return [replace(result, shared=shared[result.setting]) for result in results]
