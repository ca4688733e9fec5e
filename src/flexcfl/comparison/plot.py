"""The picture of a comparison: accuracy over rounds, and beside it the traffic that it takes."""

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexcfl.comparison.result import Comparison
from flexcfl.metrics import over
from flexcfl.report.charts.curves import over_seeds
from flexcfl.report.charts.palette import of_method

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["STYLE", "Look", "apart", "curve", "svg"]

SIZE = (9.4, 4.3)  # inches: about 900 pixels wide
DASHES = {"solid": "-", "dash": "--", "dot": ":"}  # what matplotlib calls them
STYLE = {
    "svg.hashsalt": "flexcfl",  # parts are named by what they are, not at random
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e6e6e6",
}
GAP, REACH = 0.06, 0.35  # from label to label, as parts of the height and of the width
FINAL = "final is the mean of the last ten rounds"
MANY = 6  # more names than that stand in two columns

Look: TypeAlias = tuple[str, str]  # colour and dashes
Looks: TypeAlias = Mapping[str, Look]  # of each algorithm


def svg(comparison: Comparison, title: str) -> bytes:
    """Return the picture; the same comparison gives the same bytes."""
    # Here, because it takes a second to import.
    from matplotlib import style
    from matplotlib.figure import Figure

    looks = _looks(comparison.algorithms)
    picture = io.BytesIO()
    with style.context(["default", STYLE]):
        figure = Figure(figsize=SIZE, layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(3, 2))
        figure.suptitle(title, fontsize=11)
        measured = over(comparison.measured, len(comparison.table))
        figure.supxlabel(f"{FINAL}, {measured}", fontsize=9)
        _curves(left, comparison.curves, looks)
        _traffic(right, comparison, looks)
        figure.savefig(picture, format="svg", metadata={"Date": None, "Title": title})
    return picture.getvalue()


def _looks(algorithms: Sequence[str]) -> Looks:
    found = {name: of_method(place) for place, name in enumerate(algorithms)}
    return {name: (colour, DASHES[dash]) for name, (colour, dash) in found.items()}


def curve(
    axes: "Axes", values: NDArray[np.float64], look: Look, label: str, width: float = 1.5
) -> None:
    """Draw the mean over seeds as a line, in a band from the lowest to the highest.

    ``values`` are seeds by rounds, NaN where nothing was measured.
    """
    numbers, low, mean, high = over_seeds(values)
    if not len(numbers):
        return
    colour, dashes = look
    if len(values) > 1:
        axes.fill_between(numbers, low, high, color=colour, alpha=0.18, linewidth=0)
    point = "o" if len(numbers) == 1 else ""
    axes.plot(numbers, mean, dashes, marker=point, color=colour, label=label, linewidth=width)


def _curves(axes: "Axes", curves: Mapping[str, NDArray[np.float64]], looks: Looks) -> None:
    for name, look in looks.items():
        curve(axes, 100 * curves[name], look, name)
    axes.set(xlabel="round", ylabel="accuracy in %")
    axes.locator_params("x", integer=True)
    several = max(len(each) for each in curves.values()) > 1
    axes.set_title("mean, lowest and highest of the seeds" if several else "one seed", size=10)
    if not axes.get_legend_handles_labels()[0]:
        axes.set(xticks=[], yticks=[])
        axes.text(0.5, 0.5, "no round was measured", ha="center", transform=axes.transAxes)
    else:
        axes.legend(loc="lower right", frameon=False, ncols=1 if len(looks) <= MANY else 2)


def _traffic(axes: "Axes", comparison: Comparison, looks: Looks) -> None:
    """Draw a point for each seed, and a ring with the algorithm's name for the mean."""
    rows = [row for row in comparison.table if row.final.mean is not None]
    for row in rows:
        runs, colour = comparison.compared[row.algorithm], looks[row.algorithm][0]
        sent = np.array([run["traffic"]["relative_to_fedavg"] for run in runs], dtype=np.float64)
        final = 100 * np.array([run["accuracy"]["final"] for run in runs], dtype=np.float64)
        axes.plot(sent, final, "o", color=colour, alpha=0.6, markersize=4, markeredgewidth=0)
        axes.plot(
            sent.mean(), np.nanmean(final), "o", color=colour, fillstyle="none", markersize=10
        )
    axes.set(xlabel="traffic: model transfers, relative to FedAvg's", ylabel="final accuracy in %")
    axes.set_title("each seed, and their mean as a ring", size=10)
    axes.xaxis.set_major_formatter("x{x:g}")
    means = [(row.relative_to_fedavg.mean or 0, 100 * (row.final.mean or 0)) for row in rows]
    _label(axes, means, [(row.algorithm, looks[row.algorithm][0]) for row in rows])


def _label(
    axes: "Axes", points: Sequence[tuple[float, float]], labels: Sequence[tuple[str, str]]
) -> None:
    """Write each name in its colour beside its point, where it covers no other name."""
    if not points:
        axes.set(xticks=[], yticks=[])
        return
    from matplotlib.patheffects import withStroke

    left, right = axes.get_xlim()
    width = 1.5 * max(right - left, 0.2)
    axes.set_xlim(left, left + width)
    axes.locator_params("x", nbins=5)
    axes.margins(y=0.1)
    low, high = axes.get_ylim()
    places = [((x - left) / width, (y - low) / (high - low)) for x, y in points]
    heights = apart(places, GAP, REACH)
    for (x, y), height, (name, colour) in zip(points, heights, labels, strict=True):
        axes.annotate(
            name,
            (x, y),
            xytext=(x + 0.06 * width, low + height * (high - low)),
            color=colour,
            va="center",
            path_effects=[withStroke(linewidth=2.5, foreground="white")],
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.7, "shrinkA": 0},
        )


def apart(points: Sequence[tuple[float, float]], gap: float, reach: float) -> list[float]:
    """Return heights below 1 for labels at points, so that none covers another.

    Labels nearer to each other than ``reach`` from side to side keep their order and are at least a
    gap apart; the others stay where they are.

    >>> apart([(0, 0.5), (0, 0.1), (0.1, 0.5), (1, 0.5)], gap=0.25, reach=0.3)
    [0.5, 0.1, 0.75, 0.5]
    """
    order = sorted(range(len(points)), key=lambda place: points[place][1])
    heights = [height for _, height in points]

    def near(place: int, others: Sequence[int]) -> list[float]:
        return [heights[each] for each in others if abs(points[each][0] - points[place][0]) < reach]

    for rank, place in enumerate(order):
        heights[place] = max([heights[place], *(y + gap for y in near(place, order[:rank]))])
    for rank, place in reversed(list(enumerate(order))):  # and back, where they went too high
        above = (y - gap for y in near(place, order[rank + 1 :]))
        heights[place] = min([heights[place], 1 - gap / 2, *above])
    return heights
