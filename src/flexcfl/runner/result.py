"""``flexcfl.Run``: the metrics and models of a finished run."""

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


@dataclass(frozen=True, eq=False, kw_only=True)
class Run(Record):
    """A finished run: its metrics, its models and its settings.

    Each table is a dict with one NumPy array per column, as in the CSV file of the same name:
    ``rounds``, ``groups``, ``ledger``, ``membership``, ``timings``, ``missing`` (clients that did
    not answer), ``messages`` (over a network), ``shifts`` (clients whose data changed), ``labels``
    (the clients' labels at the start) and ``founders`` (the clients that were clustered to find the
    groups). A missing value is NaN, and a missing table has no rows. ``tables`` has the first eight
    by file name.

    Attributes:
        summary: The main figures, as in ``summary.json``.
        experiment: All settings.
        models: One flat vector per group; ``model(group)`` returns a module.
        auxiliary: The one model for everybody, if the algorithm has one next to the groups.
        group_of: The group of every client (-1: none).
        waiting: The numbers of models that are not groups: they serve clients that were away when
            a group was divided and have not moved yet.
        names: The names of the clients, if they have names.
        folder: The folder of the run, or None if nothing was written.
        newcomer: The algorithm's state for clients that come after the run.

    Example:
        >>> import flexcfl
        >>> run = flexcfl.run(dataset="digits", rounds=2)
        >>> run.rounds["round"].tolist(), len(run.models)
        ([1, 2], 5)

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
        """How the groups were found, with points to plot; None if nothing was clustered."""
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
        """Return the trained model of a group as a new ``nn.Module`` in eval mode.

        Args:
            group: The number of the group, from 0.

        Returns:
            The module, which maps a batch of examples to logits.

        Raises:
            flexcfl.errors.SettingsError: If there is no such group.

        Example:
            >>> import flexcfl
            >>> run = flexcfl.run(dataset="digits", rounds=2)
            >>> sum(each.numel() for each in run.model(0).parameters())
            650

        """
        if group not in range(len(self.models)):  # also if it is not a number
            raise SettingsError(
                f"There is no group {short_repr(group)}: this run has the groups 0 to "
                f"{len(self.models) - 1}."
            )
        return self.engine.module(self.models[group])

    @property
    def group_accuracy(self) -> NDArray[np.float64]:
        """The last measured accuracy of each model on its own clients, NaN if never measured."""
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
        """Find the group for a new client, and evaluate all models on its examples.

        The algorithm places the client as if it came after the last round: FlexCFL, for example, by
        the direction of its first update. The run does not change.

        Args:
            x: The examples of the client.
            y: Their labels, numbered as in the run.
            x_test: Examples on which the models are evaluated; by default ``x``.
            y_test: The labels of ``x_test``.
            seed: The random seed of the client's training; by default that of the run.

        Returns:
            The group, and the accuracy and loss of each model.

        Raises:
            flexcfl.errors.DataError: If the examples do not fit the model.
            flexcfl.errors.SettingsError: If the algorithm cannot place a client alone.

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
        """Write the models as safetensors files, with a model card and the settings.

        Args:
            folder: The folder to write; by default ``export`` within the folder of the run.
            force: Whether to overwrite what is there.

        Returns:
            The folder.

        Raises:
            flexcfl.errors.SettingsError: If the folder is not empty and ``force`` is false, or if
                there is no folder.

        """
        from flexcfl.runner.exporting import export  # which needs this module

        return export(self, None if folder is None else Path(folder), force)

    def plot(self, chart: str = "accuracy") -> "Figure":
        """Return a chart as a Plotly figure, to show in a notebook, to change or to save.

        Args:
            chart: ``"accuracy"``, ``"loss"`` or ``"discrepancy"`` over rounds, ``"traffic"``; of
                the groups ``"group-accuracy"``, ``"group-size"``, ``"moves"`` (each client's group
                over rounds), ``"changes"`` or ``"flows"``; ``"founders"`` or ``"labels"``.

        Returns:
            The figure.

        Raises:
            flexcfl.errors.SettingsError: If there is no such chart, or nothing to draw in it.

        Example:
            >>> import flexcfl
            >>> run = flexcfl.run(dataset="digits", rounds=2)
            >>> run.plot("moves").layout.title.text
            'Group of each client by round'

        """
        return figure(drawn(chart, [self]))

    def _repr_html_(self) -> str:
        """Return the HTML that a notebook shows."""
        from flexcfl.report.terminal.run_results import result_html  # which needs this module

        return result_html(self)

    def __repr__(self) -> str:
        names = [self.summary[key] for key in ("algorithm", "dataset", "model")]
        return f"Run({', '.join(names)}, {self.summary['rounds']} rounds, {self.accuracy})"


def figure(chart: Chart) -> "Figure":
    """Return a chart as a Plotly figure that includes its title."""
    from plotly.graph_objects import Figure  # imported here, because it is slow to import

    made = Figure(chart.figure)
    made.update_layout(title={"text": chart.title}, template="plotly_white", margin_t=90)
    return made
