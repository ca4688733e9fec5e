"""The result of a comparison."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from flexcfl.comparison import table
from flexcfl.comparison.table import AlgorithmResult
from flexcfl.comparison.worker_messages import Done
from flexcfl.errors import SettingsError, unknown
from flexcfl.protocol import Flags
from flexcfl.record.metrics import measured_by_all
from flexcfl.record.record import Record
from flexcfl.record.summary import Summary
from flexcfl.record.tables import ROUNDS
from flexcfl.report.charts import OF_METHODS
from flexcfl.report.page import Report
from flexcfl.runner.result import figure

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


@dataclass(frozen=True, eq=False)
class Comparison:
    """A finished comparison, which a notebook shows as a table.

    Attributes:
        table: One result per algorithm, in the order in which they were named. Its accuracies are
            over the rounds in which every run is measured.
        runs: By algorithm, the ``summary.json`` of each seed, with its own figures.
        compared: The same, with ``accuracy`` and ``honest`` over the rounds of the table.
        curves: By algorithm, the accuracies: seeds by rounds, NaN if not measured.
        folder: The folder of the comparison, or None if nothing was written.

    Example:
        >>> import flexcfl
        >>> comparison = flexcfl.compare(["fedavg", "flexcfl"], seeds=1, rounds=10)
        >>> comparison.algorithms, comparison.seeds
        (('fedavg', 'flexcfl'), 1)
        >>> comparison.curves["flexcfl"].shape
        (1, 10)

    """

    table: Sequence[AlgorithmResult]
    runs: Mapping[str, Sequence[Summary]]
    compared: Mapping[str, Sequence[Summary]]
    curves: Mapping[str, NDArray[np.float64]]
    folder: Path | None
    _paths: tuple[Path, ...] = ()

    @classmethod
    def of(
        cls,
        done: Mapping[str, Sequence[Done]],
        folder: Path | None = None,
        paths: tuple[Path, ...] = (),
    ) -> "Comparison":
        """Return the comparison of finished runs: by algorithm, and within it by seed."""
        rounds = measured_by_all(each.accuracy for found in done.values() for each in found)
        compared = {
            name: [table.over_rounds(each, rounds) for each in found]
            for name, found in done.items()
        }
        return cls(
            table=[table.algorithm_result(name, summaries) for name, summaries in compared.items()],
            runs={name: [each.summary for each in found] for name, found in done.items()},
            compared=compared,
            curves={
                name: np.stack([each.accuracy for each in found]) for name, found in done.items()
            },
            folder=folder,
            _paths=paths,
        )

    @property
    def algorithms(self) -> tuple[str, ...]:
        """The names of the algorithms, in the order of the table."""
        return tuple(row.algorithm for row in self.table)

    @property
    def seeds(self) -> int:
        """The number of seeds, counted from 0."""
        return len(next(iter(self.runs.values())))

    @property
    def measured(self) -> Flags:
        """Whether every run is measured in each round; a run that never is does not count."""
        return measured_by_all(curve for curves in self.curves.values() for curve in curves)

    def plot(self, chart: str = "accuracy") -> "Figure":
        """Return a chart of all algorithms as a Plotly figure.

        Args:
            chart: ``"accuracy"``; also ``"traffic"``, ``"loss"`` or ``"discrepancy"`` if the
                comparison has a folder.

        """
        if chart not in OF_METHODS:
            raise SettingsError(unknown("chart of a comparison", chart, OF_METHODS))
        if chart != "accuracy" and self.folder is None:
            raise SettingsError(
                f"The chart '{chart}' is drawn from the folder of a comparison, and this one has "
                "none: give flexcfl.compare a folder with out=."
            )
        return figure(OF_METHODS[chart](self._records(chart)))

    def _records(self, chart: str) -> list[Record]:
        if self._paths:
            return list(Report.of(self._paths).settings[0].runs)
        return [
            Record(
                settings={"run": {"seed": seed, "rounds": len(curve)}},
                tables={ROUNDS: {"round": np.arange(1, len(curve) + 1), chart: curve}},
                label=name,
            )
            for name, curves in self.curves.items()
            for seed, curve in enumerate(curves)
        ]

    def _repr_html_(self) -> str:
        """Return the table that a notebook shows."""
        return table.html(self)

    def __repr__(self) -> str:
        finals = [(row.algorithm, row.final.mean) for row in table.ranked(self.table)]
        parts = [f"{name} {'-' if mean is None else f'{mean:.1%}'}" for name, mean in finals]
        return f"Comparison(final accuracy: {', '.join(parts)})"
