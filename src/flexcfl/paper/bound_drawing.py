"""The picture of the convergence bound: measured divergence beside it, over local epochs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from flexcfl.paper.bound import Measured, title
from flexcfl.paper.convergence import Divergence
from flexcfl.paper.drawing import STYLE
from flexcfl.report.charts.palette import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw"]

SIZE = (9.4, 6.4)  # inches: about 900 pixels wide
ROUNDED = 1e-12  # smaller gaps are none
MEASURED, LEMMA, LINEAR, PRINTED, ALONE = *COLOURS[:4], COLOURS[5]


def draw(found: Measured) -> "Figure":
    """Draw the clients' divergence for every rate, and below what becomes of it and the reason."""
    # Here, because it takes a second to import.
    from matplotlib import style
    from matplotlib.figure import Figure

    with style.context(["default", STYLE]):
        figure = Figure(figsize=SIZE, layout="constrained")
        above, below = figure.subfigures(2, 1, squeeze=False)[:, 0]
        panels = np.atleast_1d(above.subplots(1, len(found.divergences), sharey=True))
        for axes, divergence in zip(panels, found.divergences, strict=True):
            _distances(axes, divergence)
        figure.suptitle(title(found), fontsize=11)
        panels[0].set_ylabel("distance of a client's model\nfrom the virtual group model")
        left, right = below.subplots(1, 2)
        _losses(left, found.divergences[-1])
        _ratios(right, found.divergences)
        handles, labels = panels[-1].get_legend_handles_labels()
        above.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    return figure


def _distances(axes: "Axes", found: Divergence) -> None:
    epochs = found.epochs[1:]
    largest = np.median(found.client_bounds[1:], axis=1)
    axes.plot(
        epochs, largest, ":", color="black", label="Lemma 2 with one L, the steepest client's"
    )
    _spread(axes, found.own_bounds, LEMMA, "Lemma 2 with each client's own L")
    calm = found.rate * found.smoothnesses <= 2
    if calm.any():
        linear = np.median(found.convex_bounds[1:, calm], axis=1)
        label = r"$e\,\eta\,\delta_k$, by convexity, where $\eta \leq 2/L_k$"
        axes.plot(epochs, linear, "--", color=LINEAR, label=label)
    _spread(axes, found.clients, MEASURED, "measured (bands: four fifths of the clients)")
    axes.set_title(rf"$\eta$ = {found.rate:g}", size=10)
    axes.set(xlabel="local epoch", yscale="log", xlim=(0, epochs[-1]), ylim=(1e-4, 1e6))
    axes.locator_params("x", nbins=4, integer=True)


def _spread(axes: "Axes", values: NDArray[np.float64], colour: str, label: str) -> None:
    """Draw the median client as a line, in a band without a tenth of them at either end."""
    low, middle, high = np.quantile(values[1:], (0.1, 0.5, 0.9), axis=1)
    epochs = np.arange(1, len(values))
    axes.fill_between(epochs, low, high, color=colour, alpha=0.18, linewidth=0)
    axes.plot(epochs, middle, color=colour, label=label)


def _losses(axes: "Axes", found: Divergence) -> None:
    """Draw the largest gap of a group and the largest bounds, with and without sharing."""
    lines = {
        "bound with sharing, corrected": (found.shared_bounds, LEMMA, "-"),
        "bound with sharing, as printed": (found.printed_bounds, PRINTED, "--"),
        "bound without sharing": (found.gap_bounds, LINEAR, ":"),
        "measured with sharing": (found.shared_gaps, MEASURED, "-"),
        "measured without": (found.gaps, ALONE, "-"),
    }
    for label, (values, colour, dashes) in lines.items():
        largest = values.max(axis=1)
        drawn = np.where(largest > ROUNDED, largest, np.nan)
        axes.plot(found.epochs, drawn, dashes, color=colour, label=label)
    top = 1e5 * found.shared_bounds.max()  # leaves room for the names
    axes.set_title(
        rf"losses, the largest of the groups: $\eta$ = {found.rate:g}, $\eta_g$ = {found.eta_g:g}",
        size=10,
    )
    axes.set(xlabel="local epoch", ylabel="gap between losses", yscale="log", ylim=(1e-6, top))
    axes.locator_params("x", integer=True)
    axes.legend(frameon=False, fontsize=8, loc="upper left")


def _ratios(axes: "Axes", divergences: Sequence[Divergence]) -> None:
    """Draw how loose the bound is for each client: it is the curvature that makes it so."""
    for found, colour in zip(divergences, COLOURS, strict=False):
        middle = len(found.epochs) // 2
        moved = found.clients[middle] > ROUNDED  # a client alone in its group is not moved apart
        ratios = found.own_bounds[middle, moved] / found.clients[middle, moved]
        steep = found.rate * found.smoothnesses[moved]
        axes.plot(steep, ratios, "o", color=colour, markersize=3, label=f"{found.rate:g}")
    axes.set_title(f"how loose Lemma 2 is for each client, e = {middle}", size=10)
    axes.set(xlabel=r"$\eta\,L_k$, its own", ylabel="bound / measured", xscale="log", yscale="log")
    axes.legend(title=r"$\eta$", frameon=False)
