"""What a run gives back: its figures and its models."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from flexcfl.errors import SettingsError
from flexcfl.metrics import Accuracy
from flexcfl.protocol import Clustering, Ids, Vector
from flexcfl.runner.experiment import Experiment

if TYPE_CHECKING:
    from torch import nn

    from flexcfl.engine import Engine

__all__ = ["Run", "columns"]


@dataclass(frozen=True, eq=False)
class Run:
    """A finished run.

    ``rounds``, ``groups``, ``ledger``, ``membership``, ``missing`` (who did not answer),
    ``messages`` (over a network), ``shifts`` (whose data changed) and ``labels`` (what clients had
    before) hold one array per column of the files of these names, NaN where there is no figure and
    empty where there is no file; ``summary`` is ``summary.json``. ``models`` are flat vectors, one
    per group, ``auxiliary`` the one for everybody beside them, and ``group_of`` is every client's
    group (-1: none). ``clustering`` is how the groups were found, with the points to draw; it is
    None, like ``auxiliary``, where the algorithm has none. ``folder`` is None where nothing was
    written. ``waiting`` are the numbers of models that are no groups: they serve clients that were
    away when a group was divided, and have not followed yet.
    """

    experiment: Experiment
    rounds: Mapping[str, NDArray[Any]]
    groups: Mapping[str, NDArray[Any]]
    ledger: Mapping[str, NDArray[Any]]
    membership: Mapping[str, NDArray[Any]]
    missing: Mapping[str, NDArray[Any]]
    messages: Mapping[str, NDArray[Any]]
    shifts: Mapping[str, NDArray[Any]]
    labels: Mapping[str, NDArray[Any]]
    summary: Mapping[str, Any]
    models: Sequence[Vector]
    auxiliary: Vector | None
    group_of: Ids
    clustering: Clustering | None
    folder: Path | None
    engine: "Engine"
    waiting: tuple[int, ...] = ()

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


def columns(kind: type[Any], rows: Sequence[Any]) -> dict[str, NDArray[Any]]:
    """Return rows of figures of one kind as one array per figure."""
    return {item.name: _column(rows, item.name) for item in fields(kind)}


def _column(rows: Sequence[Any], name: str) -> NDArray[Any]:
    values = [getattr(row, name) for row in rows]
    if any(isinstance(value, str) for value in values):
        # As they are: in an array of fixed width each would take the room of the longest.
        return np.array(values, dtype=np.object_)
    whole = all(isinstance(value, int) for value in values)
    return np.array(values, dtype=np.int64 if whole else np.float64)  # None becomes NaN
