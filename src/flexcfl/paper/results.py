"""What came of cells: found in run folders and in records, and compared over the same rounds."""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from flexcfl.comparison.messages import Done
from flexcfl.errors import SettingsError
from flexcfl.paper.cells import RUNS, Cell, Part
from flexcfl.paper.records import Record, file, recorded
from flexcfl.paper.rows import ROUNDS
from flexcfl.protocol import Flags
from flexcfl.record.finished import curves, is_finished, read_back
from flexcfl.record.metrics import Accuracy, measured_by_all
from flexcfl.record.summary import Summary
from flexcfl.record.tables import GROUPS

__all__ = ["Result", "compared", "finished"]


@dataclass(frozen=True, eq=False)
class Result:
    """A cell that is finished.

    ``summary`` is its ``summary.json``, and ``rounds`` has arrays by column of ``rounds.csv``, NaN
    where there is no figure. ``largest_group`` is how many clients the largest group has in the
    end, where that is known. ``path`` is its run folder, None where only a record is left.
    ``shared`` says of each round whether all runs that it is compared with are measured in it;
    None stands for all rounds.
    """

    cell: Cell
    summary: Summary
    rounds: Mapping[str, NDArray[Any]]
    largest_group: int | None = None
    path: Path | None = None
    shared: Flags | None = None

    @cached_property
    def accuracy(self) -> Accuracy:
        """Its accuracy, over the shared rounds."""
        return Accuracy.of(self.curve)

    @cached_property
    def curve(self) -> NDArray[np.float64]:
        """The accuracy of each shared round, NaN in all others."""
        curve: NDArray[np.float64] = self.rounds["accuracy"]
        return curve if self.shared is None else np.where(self.shared, curve, np.nan)

    @property
    def done(self) -> Done:
        """What a process would say of it."""
        return Done(self.summary, self.rounds["accuracy"], before=True)

    @cached_property
    def record(self) -> Record:
        """What of it is kept where its folder is not."""
        return Record.of(self.cell, self.summary, self.rounds, self.largest_group)


def finished(folder: Path, parts: Iterable[Part]) -> Iterator[Result]:
    """Yield what is finished of parts, with all seeds and numbers of rounds that there are.

    Where a run has left both its folder and a record, they must have the same figures.
    """
    by_setting: dict[str, list[Part]] = {}
    for part in dict.fromkeys(parts):
        by_setting.setdefault(part.setting, []).append(part)
    for setting, mine in by_setting.items():
        records = recorded(folder, setting)
        for part in mine:
            found = {result.cell: result for result in _of_folders(folder, part)}
            for record in records:
                if record.method == part.name:
                    kept = _of_record(folder, part, record)
                    _check_same(found.setdefault(kept.cell, kept), kept, folder)
            yield from (found[cell] for cell in sorted(found, key=_order))


def _order(cell: Cell) -> tuple[int, int]:
    return cell.seed, cell.rounds


def _check_same(one: Result, other: Result, folder: Path) -> None:
    if one.record.figures != other.record.figures:
        raise SettingsError(
            f"{one.cell.title} has one result in '{one.path}' and another in "
            f"'{file(folder, one.cell.part.setting)}': keep one of them."
        )


def _of_folders(folder: Path, part: Part) -> Iterator[Result]:
    for path in (folder / RUNS).glob(f"{part.setting}*/{part.name}-seed*"):
        setting = re.fullmatch(rf"{re.escape(part.setting)}(?:-rounds(\d+))?", path.parent.name)
        seed = re.fullmatch(rf"{re.escape(part.name)}-seed(\d+)", path.name)
        if setting and seed and is_finished(path):
            cell = Cell(part, int(seed[1]), int(setting[1] or ROUNDS))
            summary = read_back(path, cell.experiment).summary
            rounds = curves(path, cell.rounds)
            yield Result(cell, summary, rounds, _largest_group(path / GROUPS, cell), path)


def _of_record(folder: Path, part: Part, record: Record) -> Result:
    cell = Cell(part, record.seed, record.rounds)
    record.check(cell, folder)
    rounds = {name: np.array(curve, np.float64) for name, curve in record.curves.items()}
    return Result(cell, cast(Summary, record.summary), rounds, record.largest_group)


def _largest_group(file: Path, cell: Cell) -> int | None:
    if not file.is_file():
        return None
    with file.open(newline="", encoding="utf-8") as content:
        rows = [row for row in csv.DictReader(content) if row["round"] == f"{cell.rounds}"]
    return max((int(row["clients"]) for row in rows), default=None)


def compared(results: Iterable[Result]) -> list[Result]:
    """Return results that are compared with all others on the same, over the rounds they share."""
    results = list(results)
    alike: dict[tuple[str, int], list[Result]] = {}
    for result in results:
        alike.setdefault((result.cell.part.setting, result.cell.rounds), []).append(result)
    shared = {
        key: measured_by_all(result.rounds["accuracy"] for result in found)
        for key, found in alike.items()
    }
    return [
        replace(result, shared=shared[result.cell.part.setting, result.cell.rounds])
        for result in results
    ]
