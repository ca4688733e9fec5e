"""Drawing functions of all figures: panels, curves over rounds with their spread, and a legend."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from flexcfl.paper.results import Result
from flexcfl.report.charts import palette
from flexcfl.report.charts.curves import over_seeds

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Look: TypeAlias = tuple[str, str]  # colour and dashes
STYLE = {
    "svg.hashsalt": "flexcfl",  # element ids do not change from run to run
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e6e6e6",
}
MARGIN = 0.2  # below the curves, as a fraction of their height

# A method looks the same in all figures, and FlexCFL is the darkest.
LOOKS: Mapping[str, Look] = {
    "fedavg": (palette.SKY, "-"),
    "fedprox": (palette.GREEN, "-"),
    "ifca": (palette.GOLD, "-"),
    "ifca-mig": (palette.GOLD, "--"),
    "fesem": (palette.PINK, "-"),
    "fesem-mig": (palette.PINK, "--"),
    "fedgroup": (palette.BLUE, "-"),
    "flexcfl": (palette.BLACK, "-"),
    "flexcfl-eta0.1": (palette.VERMILION, "-"),
    "flexcfl-eta1": (palette.PLUM, "-"),
    "flexcfl-eta5": (palette.VERMILION, "--"),
    "flexcfl-eta10": (palette.OLIVE, "-"),
}


@dataclass(frozen=True)
class Panel:
    """A column of ``rounds.csv``, the label of its axis, and a factor for its values.

    A ``settled`` panel shows the later rounds and cuts off the first ones.
    """

    column: str
    label: str
    scale: float = 1.0
    logarithmic: bool = False
    settled: bool = False


def grid(rows: int, columns: int, width: float = 4.4) -> "tuple[Figure, Any]":
    """Return a figure with this many rows and columns of panels, and its axes."""
    from matplotlib.figure import Figure

    size = (max(width * columns, 5.0), 2.5 * rows + 0.4)
    picture = Figure(figsize=size, layout="constrained")
    return picture, picture.subplots(rows, columns, squeeze=False)


def curve(
    axes: "Axes", results: Sequence[Result], panel: Panel, look: Look, label: str = ""
) -> None:
    """Draw the mean over seeds as a line, in a band from the lowest to the highest."""
    values = np.stack([panel.scale * result.rounds[panel.column] for result in results])
    numbers, low, mean, high = over_seeds(values)
    if not len(numbers):
        return
    colour, dashes = look
    if len(values) > 1:
        axes.fill_between(numbers, low, high, color=colour, alpha=0.18, linewidth=0)
    point = "o" if len(numbers) == 1 else ""
    axes.plot(numbers, mean, dashes, marker=point, color=colour, label=label, linewidth=1.1)
    axes.set_xlim(0, values.shape[1])
    if panel.logarithmic:
        axes.set_yscale("log")


def limit_to_late(axes: "Axes", results: Sequence[Result], panel: Panel) -> None:
    """Start the axis of a settled panel at the lowest value of the second half of the rounds."""
    values = [panel.scale * result.rounds[panel.column] for result in results]
    late = np.concatenate([each[len(each) // 2 :] for each in values])
    if panel.settled and not np.isnan(late).all():
        low, high = np.nanmin(late), np.nanmax(np.concatenate(values))
        if low < high:  # with a single value, keep Matplotlib's own limits
            axes.set_ylim(low - MARGIN * (high - low), high + MARGIN * (high - low) / 3)


def legend(picture: "Figure") -> None:
    """Add a legend of all methods below the panels."""
    lines: dict[str, Artist] = {}
    for axes in picture.axes:
        handles, labels = axes.get_legend_handles_labels()
        lines |= dict(zip(labels, handles, strict=True))
    picture.legend(
        lines.values(), lines, loc="outside lower center", ncols=len(lines), frameon=False
    )
