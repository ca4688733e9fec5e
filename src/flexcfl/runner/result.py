"""What a run gives back: its figures and its models."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from flexcfl.errors import SettingsError
from flexcfl.metrics import Accuracy
from flexcfl.protocol import Vector
from flexcfl.runner.experiment import Experiment
from flexcfl.runner.loop import Figures

if TYPE_CHECKING:
    from torch import nn

    from flexcfl.engine import Engine

__all__ = ["Run", "columns"]


@dataclass(frozen=True, eq=False)
class Run:
    """A finished run.

    ``rounds`` holds one array per column of ``rounds.csv``, NaN where there is no figure;
    ``summary`` is ``summary.json``; ``models`` are flat vectors, one per group; ``folder`` is None
    where nothing was written.
    """

    experiment: Experiment
    rounds: Mapping[str, NDArray[Any]]
    summary: Mapping[str, Any]
    models: Sequence[Vector]
    folder: Path | None
    engine: "Engine"

    @property
    def accuracy(self) -> Accuracy:
        """The best, final and median accuracy."""
        return Accuracy(**self.summary["accuracy"])

    def model(self, group: int = 0) -> "nn.Module":
        """Return a group's model as a module, ready for use."""
        if not 0 <= group < len(self.models):
            raise SettingsError(
                f"There is no group {group}: this run has the groups 0 to {len(self.models) - 1}."
            )
        return self.engine.module(self.models[group])

    def __repr__(self) -> str:
        names = [self.summary[key] for key in ("algorithm", "dataset", "model")]
        return f"Run({', '.join(names)}, {self.summary['rounds']} rounds, {self.accuracy})"


def columns(rounds: Sequence[Figures]) -> dict[str, NDArray[Any]]:
    """Return rounds as one array per figure."""
    return {item.name: _column(rounds, item.name) for item in fields(Figures)}


def _column(rounds: Sequence[Figures], name: str) -> NDArray[Any]:
    values = [getattr(figures, name) for figures in rounds]
    whole = all(isinstance(value, int) for value in values)
    return np.array(values, dtype=np.int64 if whole else np.float64)  # None becomes NaN
