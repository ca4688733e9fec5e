"""Cells of the paper's tables: one run each, in a folder whose name says which."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from flexcfl.experiment.experiment import Experiment
from flexcfl.experiment.layers import Layer, dotted
from flexcfl.experiment.resolve import resolve
from flexcfl.paper.choices import CHOICES, NO_SHIFT, Chosen, applied
from flexcfl.paper.methods import Method
from flexcfl.paper.rows import ROUNDS, Row

__all__ = ["RUNS", "Cell", "Part"]

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
