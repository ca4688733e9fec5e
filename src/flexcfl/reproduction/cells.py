"""Cells of the paper's tables: one run each, in a folder whose name says which."""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexcfl.comparison.finished import curves, is_finished, read_back
from flexcfl.metrics import Accuracy, measured_by_all
from flexcfl.protocol import Flags
from flexcfl.reproduction.choices import CHOICES, NO_SHIFT, Chosen, applied
from flexcfl.reproduction.methods import Method
from flexcfl.reproduction.rows import ROUNDS, Row
from flexcfl.runner.experiment import Experiment
from flexcfl.runner.folder import GROUPS
from flexcfl.runner.layers import Layer, dotted
from flexcfl.runner.resolve import resolve

__all__ = ["Cell", "Part", "Result", "compared", "finished"]

RUNS = "runs"  # the folder of all cells


@dataclass(frozen=True)
class Part:
    """A cell of a table, whatever the seed and the number of rounds."""

    row: Row
    method: Method
    shift: str = NO_SHIFT
    chosen: Chosen = ()

    @property
    def setting(self) -> str:
        """The name that says on what the method runs."""
        return self.row.name if self.shift == NO_SHIFT else f"{self.row.name}-{self.shift}"

    @property
    def name(self) -> str:
        """The name of the method, with what was chosen."""
        words = (f"{name}-{value}" for name, value in self.chosen)
        return "-".join([self.method.name, *words])

    def choosing(self, wanted: Chosen) -> "Part":
        """Return the same with those choices that make a difference to it."""
        return replace(self, chosen=applied(wanted, self.method, self.shift))


@dataclass(frozen=True)
class Cell:
    """One run: a part with a seed and a number of rounds; ``data`` is where the files are."""

    part: Part
    seed: int = 0
    rounds: int = ROUNDS
    data: Path | None = field(default=None, compare=False)

    @property
    def folder(self) -> str:
        """The folder within that of the reproduction."""
        short = "" if self.rounds == ROUNDS else f"-rounds{self.rounds}"
        return f"{RUNS}/{self.part.setting}{short}/{self.part.name}-seed{self.seed}"

    @property
    def title(self) -> str:
        """What the cell is called where it fails."""
        return f"'{self.part.setting}, {self.part.name}' with seed {self.seed}"

    @cached_property
    def experiment(self) -> Experiment:
        """All settings: the paper's, which the data set brings along, and what differs."""
        part = self.part
        said: dict[str, object] = {
            "data.name": part.row.dataset,
            "model.name": part.row.model,
            "algorithm.name": part.method.algorithm,
            "shift.name": part.shift,
            "run.seed": self.seed,
            "run.rounds": self.rounds,
            **part.row.settings,
            **part.method.settings,
        }
        for name, value in part.chosen:
            said |= CHOICES[name].values[value]
        if self.data is not None:
            said["run.data"] = self.data
        return resolve([Layer("given", dotted(said))]).experiment


@dataclass(frozen=True, eq=False)
class Result:
    """A cell that is finished.

    ``summary`` is its ``summary.json``, and ``rounds`` has one array for each column of
    ``rounds.csv``, NaN where there is no figure. ``shared`` says of each round whether all runs
    that it is compared with are measured in it; None stands for all rounds.
    """

    cell: Cell
    summary: Mapping[str, Any]
    rounds: Mapping[str, NDArray[Any]]
    path: Path
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

    @cached_property
    def largest_group(self) -> int | None:
        """How many clients the largest group has in the end, where the run has written it down."""
        file = self.path / GROUPS
        if not file.is_file():
            return None
        with file.open(newline="", encoding="utf-8") as content:
            rows = [row for row in csv.DictReader(content) if row["round"] == f"{self.cell.rounds}"]
        return max((int(row["clients"]) for row in rows), default=None)


def finished(folder: Path, part: Part) -> Iterator[Result]:
    """Yield what is finished of a part, with all seeds and numbers of rounds that there are."""
    runs = (folder / RUNS).glob(f"{part.setting}*/{part.name}-seed*")
    for path in sorted(runs, key=lambda path: (len(path.name), path)):  # the tenth after the second
        setting = re.fullmatch(rf"{re.escape(part.setting)}(?:-rounds(\d+))?", path.parent.name)
        seed = re.fullmatch(rf"{re.escape(part.name)}-seed(\d+)", path.name)
        if setting and seed and is_finished(path):
            cell = Cell(part, int(seed[1]), int(setting[1] or ROUNDS))
            summary = read_back(path, cell.experiment).summary
            yield Result(cell, summary, curves(path, cell.rounds), path)


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
