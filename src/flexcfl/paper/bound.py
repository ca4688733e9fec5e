"""The convergence bound of Section 4 on real clients: a table and a figure with the measurement.

The paper does not measure it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from flexcfl.data import DATASETS
from flexcfl.paper.comparison_table import ComparisonTable, Entry
from flexcfl.paper.divergence import PROVED, MeasuredDivergence, holds, measure_divergence
from flexcfl.paper.drawing import STYLE
from flexcfl.paper.regression import ClientExamples, Numbers
from flexcfl.record import csv_tables
from flexcfl.record.metrics import MeanDeviation
from flexcfl.report.charts.palette import COLOURS
from flexcfl.runner import Run, run
from flexcfl.seeds import generator

if TYPE_CHECKING:
    from matplotlib import figure
    from matplotlib.axes import Axes

RATES = (0.03, 0.01, 0.003, 0.001)  # the paper's for MNIST, and smaller ones
ETA_G = 0.1  # the paper's, in its Table 3

SHOWN = (1, 5, 10, 20)  # epochs
READING = (
    "Distance between a client's model and the virtual group model after e local epochs of full "
    "batches, of the client for which it is largest, with its bounds; by convexity is e times the "
    "rate times delta, which holds where the rate is at most 2 / L of that client."
)
KEPT = (
    "Every inequality that the proof gives holds for every client and group, with every rate, in "
    "every epoch: Lemma 2 with the common L and with each client's own, the bound by convexity, "
    "the distance of the groups' models, Theorem 1, and the corrected form with sharing."
)
SIZE = (9.4, 6.4)  # inches: about 900 pixels wide
ROUNDED = 1e-12  # smaller gaps are none
MEASURED, LEMMA, LINEAR, PRINTED, ALONE = *COLOURS[:4], COLOURS[5]

Row: TypeAlias = dict[str, int | float | None]


@dataclass(frozen=True, eq=False)
class BoundMeasurement:
    """One round of all groups of a run, measured with several rates: one divergence per rate."""

    dataset: str
    rounds: int
    divergences: tuple[MeasuredDivergence, ...]

    @property
    def title(self) -> str:
        """One line on the clients, groups and constants."""
        first = self.divergences[0]
        return (
            f"{self.dataset}, MCLR after {self.rounds} rounds: {len(first.groups[0])} groups, "
            f"{len(first.deltas)} clients, L from {first.smoothnesses.min():.0f} to "
            f"{first.smoothness:.0f}, M = {first.lipschitz:.0f}"
        )


def measure_bound(
    data: Path | None,
    dataset: str = "mnist",
    rounds: int = 50,
    *,
    clients: int = 20,
    rates: Sequence[float] = RATES,
    epochs: int = 20,
) -> BoundMeasurement:
    """Let FlexCFL find groups and train their models, and measure one more round of full batches.

    At most ``clients`` of each group take part, by default as many as in a cohort. All constants
    are computed from these clients.
    """
    trained = run(
        dataset=dataset,
        model="mclr",
        algorithm="flexcfl",
        rounds=rounds,
        shift="none",
        seed=0,
        data=data,
        set={"run.evaluate_every": rounds},
    )
    groups = _members(trained, data, clients)
    models = np.stack(trained.models).astype(np.float64)
    found = [measure_divergence(groups, models, rate, epochs, ETA_G) for rate in rates]
    return BoundMeasurement(dataset, rounds, tuple(found))


def _members(trained: Run, data: Path | None, clients: int) -> list[list[ClientExamples]]:
    chosen, rng = trained.experiment.data, generator(0, "bound")
    federation = DATASETS[chosen.name].load(chosen.options, data)
    groups = []
    for group in range(len(trained.models)):
        members = np.flatnonzero(trained.group_of == group)
        drawn = np.sort(rng.choice(members, min(clients, len(members)), replace=False))
        own = [federation.train[int(client)] for client in drawn]
        groups.append([ClientExamples.of(federation.x[each], federation.y[each]) for each in own])
    return groups


def rows(found: BoundMeasurement) -> list[Row]:
    """Return the measurement and its bounds: a row for every rate, group and epoch."""
    return [
        _row(divergence, group, int(epoch))
        for divergence in found.divergences
        for group in range(len(divergence.group_shares))
        for epoch in divergence.epochs
    ]


def _row(found: MeasuredDivergence, group: int, epoch: int) -> Row:
    own = found.group_of == group
    largest, bound = found.clients[epoch, own].max(), found.client_bounds[epoch, own].max()
    figures = {
        "rate": found.rate,
        "divergence_largest": largest,
        "divergence_mean": found.shares[own] @ found.clients[epoch, own],
        "bound": bound,
        "ratio": bound / largest if largest else None,
        "bound_own_smoothness": found.own_bounds[epoch, own].max(),
        "group_divergence": found.groups[epoch, group],
        "group_bound": found.group_bounds[epoch, group],
        "group_bound_averaged_delta": found.averaged_bounds[epoch, group],
        "loss_gap": found.gaps[epoch, group],
        "loss_gap_bound": found.gap_bounds[epoch, group],
        "shared_loss_gap": found.shared_gaps[epoch, group],
        "shared_bound_printed": found.printed_bounds[epoch, group],
        "shared_bound_corrected": found.shared_bounds[epoch, group],
    }
    plain = {name: None if each is None else float(each) for name, each in figures.items()}
    return {"group": group, "epoch": epoch, **plain}


def csv(found: BoundMeasurement) -> str:
    """Return the rows as CSV."""
    lines = rows(found)
    return csv_tables.to_csv([list(lines[0]), *(list(line.values()) for line in lines)])


def table(found: BoundMeasurement) -> ComparisonTable:
    """Return the largest divergence of a client and its bounds, after some epochs."""
    entries = [
        _entry(divergence, int(epoch))
        for divergence in found.divergences
        for epoch in divergence.epochs
        if epoch in SHOWN
    ]
    broken = [name for name in PROVED if not all(holds(each)[name] for each in found.divergences)]
    verdict = f"Not kept: {', '.join(broken)}." if broken else KEPT
    title = f"The bound of Lemma 2: {found.title}"
    return ComparisonTable(title, entries, (READING, verdict), ours="measured")


def _entry(found: MeasuredDivergence, epoch: int) -> Entry:
    """Return the distance of the farthest client, and its bounds."""
    farthest = int(found.clients[epoch].argmax())
    lines = {
        "Lemma 2": found.client_bounds,
        "with its own L": found.own_bounds,
        "by convexity": found.convex_bounds,
    }
    values = {name: float(each[epoch, farthest]) for name, each in lines.items()}
    beside = {
        name: MeanDeviation(None if isnan(each) else each, None) for name, each in values.items()
    }
    largest = MeanDeviation(float(found.clients[epoch, farthest]), None)
    return Entry((f"rate {found.rate:g}",), f"e = {epoch}", largest, None, beside, None)


def draw(found: BoundMeasurement) -> "figure.Figure":
    """Draw the clients' divergence for every rate, and below it the losses and the cause."""
    from matplotlib import figure, style  # here, because it takes a second to import

    with style.context(["default", STYLE]):
        picture = figure.Figure(figsize=SIZE, layout="constrained")
        above, below = picture.subfigures(2, 1, squeeze=False)[:, 0]
        panels = np.atleast_1d(above.subplots(1, len(found.divergences), sharey=True))
        for axes, divergence in zip(panels, found.divergences, strict=True):
            _distances(axes, divergence)
        picture.suptitle(found.title, fontsize=11)
        panels[0].set_ylabel("distance of a client's model\nfrom the virtual group model")
        left, right = below.subplots(1, 2)
        _losses(left, found.divergences[-1])
        _ratios(right, found.divergences)
        handles, labels = panels[-1].get_legend_handles_labels()
        above.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    return picture


def _distances(axes: "Axes", found: MeasuredDivergence) -> None:
    epochs = found.epochs[1:]
    largest = np.median(found.client_bounds[1:], axis=1)
    label = "Lemma 2 with one L, the steepest client's"
    axes.plot(epochs, largest, ":", color="black", label=label)
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


def _spread(axes: "Axes", values: Numbers, colour: str, label: str) -> None:
    """Draw the median client as a line, in a band from the first to the last decile."""
    low, middle, high = np.quantile(values[1:], (0.1, 0.5, 0.9), axis=1)
    epochs = np.arange(1, len(values))
    axes.fill_between(epochs, low, high, color=colour, alpha=0.18, linewidth=0)
    axes.plot(epochs, middle, color=colour, label=label)


def _losses(axes: "Axes", found: MeasuredDivergence) -> None:
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


def _ratios(axes: "Axes", divergences: Sequence[MeasuredDivergence]) -> None:
    """Draw how loose the bound is for each client, against the curvature, which causes it."""
    for found, colour in zip(divergences, COLOURS, strict=False):
        middle = len(found.epochs) // 2
        moved = found.clients[middle] > ROUNDED  # a client alone in its group does not diverge
        ratios = found.own_bounds[middle, moved] / found.clients[middle, moved]
        steep = found.rate * found.smoothnesses[moved]
        axes.plot(steep, ratios, "o", color=colour, markersize=3, label=f"{found.rate:g}")
    axes.set_title(f"how loose Lemma 2 is for each client, e = {middle}", size=10)
    axes.set(xlabel=r"$\eta\,L_k$, its own", ylabel="bound / measured", xscale="log", yscale="log")
    axes.legend(title=r"$\eta$", frameon=False)
