"""Records: what tables and figures need of a run, in one line each, small enough for git.

``runs/SETTING.jsonl`` has the runs of a dataset, a model and a shift. A run with a record is not
done again.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, TypeAdapter

from flexcfl import disk
from flexcfl.errors import SettingsError
from flexcfl.paper.cells import RUNS, Cell
from flexcfl.record.checks import check_finished, difference, without_free
from flexcfl.record.summary import Summary

CURVES = ("accuracy", "loss", "discrepancy")
DIGITS = 6  # significant digits of a loss or a discrepancy: more than a picture can show
Number = Annotated[float, Field(allow_inf_nan=False)]


@dataclass(frozen=True)
class CellRecord:
    """A finished run: its cell, settings, summary, and curves over the rounds."""

    method: str
    seed: int
    rounds: int
    settings: dict[str, dict[str, Any]]
    summary: dict[str, Any]
    largest_group: int | None
    curves: dict[str, list[Number | None]]

    @classmethod
    def of(
        cls,
        cell: Cell,
        summary: Summary,
        rounds: Mapping[str, NDArray[Any]],
        largest_group: int | None,
    ) -> "CellRecord":
        """Return the record of a cell; an accuracy keeps all its digits."""
        curves = {name: _numbers(rounds[name], name != "accuracy") for name in CURVES}
        name, settings = cell.part.name, _settings(cell)
        return cls(name, cell.seed, cell.rounds, settings, {**summary}, largest_group, curves)

    @property
    def figures(self) -> Mapping[str, Any]:
        """The figures that are the same on every machine with the same versions."""
        return asdict(replace(self, summary=self.summary | {"seconds": None, "processor": None}))

    def check(self, cell: Cell, folder: Path) -> None:
        """Raise if the record belongs to another cell or is damaged."""
        file = record_file(folder, cell.part.setting)
        other = difference(self.settings, _settings(cell))
        if other:
            raise SettingsError(
                f"The record of {cell.title} in '{file}' belongs to another run ({other} is not "
                "the same): delete its line."
            )
        try:
            check_finished(self.summary, cell.experiment.tables())
            if set(self.curves) != set(CURVES):
                raise ValueError(self.curves.keys())
            if any(len(curve) != cell.rounds for curve in self.curves.values()):
                raise ValueError(cell.rounds)
            if not all(each is None or 0 <= each <= 1 for each in self.curves["accuracy"]):
                raise ValueError("accuracy")
        except ValueError:
            raise _damaged(file, cell.title) from None


_RECORD = TypeAdapter(CellRecord)


def record_file(folder: Path, setting: str) -> Path:
    """Return the path of the records of a setting."""
    return folder / RUNS / f"{setting}.jsonl"


def read_records(folder: Path, setting: str) -> list[CellRecord]:
    """Return the records of a setting; none if there is no file."""
    path = record_file(folder, setting)
    if not path.exists():
        return []
    found = []
    for number, line in enumerate(disk.read(path).splitlines(), start=1):
        try:
            found.append(_RECORD.validate_json(line, strict=True))
        except ValueError:
            raise _damaged(path, f"line {number}") from None
    return found


def to_json_lines(records: Sequence[CellRecord]) -> bytes:
    """Return records as JSON lines, in an order that does not depend on their own."""
    ordered = sorted(records, key=lambda each: (each.rounds, each.method, each.seed))
    lines = [json.dumps(asdict(each), separators=(",", ":"), allow_nan=False) for each in ordered]
    return "".join(f"{line}\n" for line in lines).encode()


def _settings(cell: Cell) -> dict[str, dict[str, Any]]:
    """Return the settings of a cell as JSON values, without the folder of its data."""
    settings: dict[str, dict[str, Any]] = json.loads(
        json.dumps(without_free(cell.experiment.tables()))
    )
    return settings


def _numbers(curve: NDArray[Any], rounded: bool) -> list[float | None]:
    numbers = (None if np.isnan(each) else float(each) for each in curve.astype(np.float64))
    if not rounded:
        return list(numbers)
    return [None if each is None else float(f"{each:.{DIGITS}g}") for each in numbers]


def _damaged(path: Path, where: str) -> SettingsError:
    return SettingsError(f"'{path}' is damaged ({where}): copy the file again from its origin.")
