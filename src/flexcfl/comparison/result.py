"""What a comparison gives back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexcfl.comparison.table import Row

__all__ = ["Comparison"]


@dataclass(frozen=True, eq=False)
class Comparison:
    """A finished comparison.

    ``table`` has a row for each algorithm, in the order asked for. By algorithm, ``runs`` has the
    ``summary.json`` of each seed, and ``curves`` the accuracies, seeds by rounds, NaN where there
    is none. ``folder`` is None where nothing was written.
    """

    table: Sequence[Row]
    runs: Mapping[str, Sequence[Mapping[str, Any]]]
    curves: Mapping[str, NDArray[np.float64]]
    folder: Path | None

    @property
    def algorithms(self) -> tuple[str, ...]:
        """The algorithms that were compared."""
        return tuple(row.algorithm for row in self.table)

    @property
    def seeds(self) -> int:
        """How many seeds there are, counted from 0."""
        return len(next(iter(self.runs.values())))

    def __repr__(self) -> str:
        best = [(row.algorithm, row.best.mean) for row in self.table]
        words = [f"{name} {'-' if mean is None else f'{mean:.1%}'}" for name, mean in best]
        return f"Comparison(best accuracy: {', '.join(words)})"
