"""What a run gives back: its figures and its models."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from flexcfl.errors import SettingsError
from flexcfl.experiment.experiment import Experiment
from flexcfl.protocol import Clustering, Vector
from flexcfl.record.metrics import Accuracy
from flexcfl.record.record import Record
from flexcfl.record.summary import Summary
from flexcfl.report.charts import Chart
from flexcfl.report.charts import chart as drawn
from flexcfl.settings import short_repr

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from plotly.graph_objects import Figure
    from torch import nn

    from flexcfl.engine import Engine
    from flexcfl.runner.placement import Placement

__all__ = ["Run", "figure"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Run(Record):
    """A finished run: its record, and what came of it.

    ``rounds``, ``groups``, ``ledger``, ``membership``, ``timings``, ``missing`` (who did not
    answer), ``messages`` (over a network), ``shifts`` (whose data changed), ``labels`` (what
    clients had before) and ``founders`` (who was clustered to find the groups) hold one array per
    column of the files of these names, NaN where there is no figure and empty where there is no
    file; ``tables`` has the first eight by the names of their files. ``summary`` is
    ``summary.json``. ``models`` are flat vectors, one per group, ``auxiliary`` the one for
    everybody beside them, None where the algorithm has none, and ``group_of`` is every client's
    group (-1: none). ``folder`` is None where nothing was written. ``waiting`` are the numbers of
    models that are no groups: they serve clients that were away when a group was divided, and have
    not followed yet. ``names`` are what clients are called, where they have names. ``newcomer`` is
    what the algorithm knows when another client comes.
    """

    summary: Summary
    experiment: Experiment
    models: Sequence[Vector]
    auxiliary: Vector | None
    engine: "Engine"
    waiting: tuple[int, ...] = ()
    newcomer: Any = None

    @property
    def clustering(self) -> Clustering | None:
        """How the groups were found, with the points to draw; None where the algorithm has none."""
        found = self.summary["clustering"]
        if found is None:
            return None
        client, group, *points = self.founders.values()
        embedding = np.stack(points, axis=1).astype(np.float64)
        return Clustering(
            client, group, found["groups"], embedding, found["within"], found["silhouette"]
        )

    @property
    def accuracy(self) -> Accuracy:
        """The best, final and median accuracy."""
        return Accuracy(**self.summary["accuracy"])

    def model(self, group: int = 0) -> "nn.Module":
        """Return a group's model as a module, ready for use."""
        if group not in range(len(self.models)):  # also where it is no number
            raise SettingsError(
                f"There is no group {short_repr(group)}: this run has the groups 0 to "
                f"{len(self.models) - 1}."
            )
        return self.engine.module(self.models[group])

    @property
    def group_accuracy(self) -> NDArray[np.float64]:
        """How well each model did on its own clients when they last measured it, else NaN."""
        found = np.full(len(self.models), np.nan)
        measured = np.asarray(self.groups["accuracy"], dtype=np.float64)
        for row in np.flatnonzero(~np.isnan(measured)):  # in the order of rounds
            found[self.groups["group"][row]] = measured[row]
        return found

    def place(
        self,
        x: "ArrayLike",
        y: "ArrayLike",
        x_test: "ArrayLike | None" = None,
        y_test: "ArrayLike | None" = None,
        *,
        seed: int | None = None,
    ) -> "Placement":
        """Say which group fits a newcomer, and how well each group's model does there.

        It is placed by the algorithm itself, as a client that comes after the last round: with
        FlexCFL by the direction of its first update. The run stays as it is.

        Args:
            x: Its examples.
            y: Their labels, as the run numbers them.
            x_test: Examples on which the models are measured; without any, the same ones.
            y_test: The labels of these.
            seed: What its training derives from; by default the run's.

        Example:
            >>> import flexcfl
            >>> run = flexcfl.run(dataset="digits", rounds=2)
            >>> from sklearn.datasets import load_digits
            >>> x, y = load_digits(return_X_y=True)
            >>> placement = run.place(x[y < 2] / 16, y[y < 2])
            >>> placement.group in placement.groups
            True

        """
        from flexcfl.runner.placement import place  # which needs this module

        return place(self, x, y, x_test, y_test, seed)

    def export(self, folder: str | Path | None = None, *, force: bool = False) -> Path:
        """Write the models with a card that says what they are, and return the folder.

        Args:
            folder: Where to; by default ``export`` within the run's own folder.
            force: Whether to write over what is there.

        """
        from flexcfl.runner.exporting import export  # which needs this module

        return export(self, None if folder is None else Path(folder), force)

    def plot(self, chart: str = "accuracy") -> "Figure":
        """Return a chart as a Plotly figure, to show in a notebook, to change or to save.

        Args:
            chart: ``"accuracy"``, ``"loss"`` or ``"discrepancy"`` over rounds, ``"traffic"``; of
                the groups ``"group-accuracy"``, ``"group-size"``, ``"moves"`` (who was where when),
                ``"changes"`` or ``"flows"``; ``"founders"`` or ``"labels"``.

        Example:
            >>> import flexcfl
            >>> run = flexcfl.run(dataset="digits", rounds=2)
            >>> run.plot("moves").layout.title.text
            'Group of each client by round'

        """
        return figure(drawn(chart, [self]))

    def _repr_html_(self) -> str:
        """Return what a notebook shows of the run."""
        from flexcfl.report.terminal.run_results import result_html  # which needs this module

        return result_html(self)

    def __repr__(self) -> str:
        names = [self.summary[key] for key in ("algorithm", "dataset", "model")]
        return f"Run({', '.join(names)}, {self.summary['rounds']} rounds, {self.accuracy})"


def figure(chart: Chart) -> "Figure":
    """Return a chart as Plotly's own figure, with its title in it."""
    from plotly.graph_objects import Figure  # here, because it takes a while to import

    made = Figure(chart.figure)
    made.update_layout(title={"text": chart.title}, template="plotly_white", margin_t=90)
    return made
