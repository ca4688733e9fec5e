"""The convergence bound on real clients: measured divergence beside it, over local epochs.

Duan et al.: Flexible Clustered Federated Learning for Client-Level Data Distribution Shift. IEEE
TPDS 2022, Section 4, which the paper leaves without a measurement.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import TypeAlias

import numpy as np

from flexcfl.data import DATASETS
from flexcfl.paper.convergence import PROVED, Divergence, Examples, kept, measure
from flexcfl.paper.sheet import Entry, Sheet
from flexcfl.record import csv_lines as tables
from flexcfl.record.metrics import Figure
from flexcfl.runner import Run, run
from flexcfl.seeds import generator

__all__ = ["Measured", "csv", "measured", "rows", "sheet", "title"]

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

Row: TypeAlias = dict[str, int | float | None]


@dataclass(frozen=True, eq=False)
class Measured:
    """One round of the groups of a run, with several rates: a divergence for each of them."""

    dataset: str
    rounds: int
    seed: int
    divergences: tuple[Divergence, ...]


def measured(
    data: Path | None,
    dataset: str = "mnist",
    rounds: int = 50,
    seed: int = 0,
    *,
    clients: int = 20,
    rates: Sequence[float] = RATES,
    epochs: int = 20,
) -> Measured:
    """Let FlexCFL find groups and train their models, and measure one more round of full batches.

    Of each group some clients take part, as many as in a cohort. All constants are those of these.
    """
    trained = run(
        dataset=dataset,
        model="mclr",
        algorithm="flexcfl",
        rounds=rounds,
        shift="none",
        seed=seed,
        data=data,
        set={"run.evaluate_every": rounds},
    )
    groups = _members(trained, data, clients, generator(seed, "bound"))
    models = np.stack(trained.models).astype(np.float64)
    found = [measure(groups, models, rate, epochs, ETA_G) for rate in rates]
    return Measured(dataset, rounds, seed, tuple(found))


def rows(found: Measured) -> list[Row]:
    """Return what was measured beside its bounds: a row for every rate, group and epoch."""
    return [
        _row(divergence, group, int(epoch))
        for divergence in found.divergences
        for group in range(len(divergence.group_shares))
        for epoch in divergence.epochs
    ]


def csv(found: Measured) -> str:
    """Return the rows as CSV."""
    lines = rows(found)
    return tables.written([list(lines[0]), *(list(line.values()) for line in lines)])


def sheet(found: Measured) -> Sheet:
    """Return the largest divergence of a client beside its bounds, after some epochs."""
    entries = [
        _entry(divergence, int(epoch))
        for divergence in found.divergences
        for epoch in divergence.epochs
        if epoch in SHOWN
    ]
    broken = [name for name in PROVED if not all(kept(each)[name] for each in found.divergences)]
    verdict = f"Not kept: {', '.join(broken)}." if broken else KEPT
    about = f"The bound of Lemma 2: {title(found)}"
    return Sheet(about, entries, (READING, verdict), ours="measured")


def _entry(found: Divergence, epoch: int) -> Entry:
    """Return the client that has gone farthest, and what bounds it."""
    farthest = int(found.clients[epoch].argmax())
    lines = {
        "Lemma 2": found.client_bounds,
        "with its own L": found.own_bounds,
        "by convexity": found.convex_bounds,
    }
    values = {name: float(each[epoch, farthest]) for name, each in lines.items()}
    beside = {name: Figure(None if isnan(each) else each, None) for name, each in values.items()}
    largest = Figure(float(found.clients[epoch, farthest]), None)
    return Entry((f"rate {found.rate:g}",), f"e = {epoch}", largest, None, beside, None)


def title(found: Measured) -> str:
    """Return what was measured on, in a line."""
    first = found.divergences[0]
    return (
        f"{found.dataset}, MCLR after {found.rounds} rounds: {len(first.groups[0])} groups, "
        f"{len(first.deltas)} clients, L from {first.smoothnesses.min():.0f} to "
        f"{first.smoothness:.0f}, M = {first.lipschitz:.0f}"
    )


def _members(
    trained: Run, data: Path | None, clients: int, rng: np.random.Generator
) -> list[list[Examples]]:
    chosen = trained.experiment.data
    federation = DATASETS[chosen.name].load(chosen.options, data)
    groups = []
    for group in range(len(trained.models)):
        members = np.flatnonzero(trained.group_of == group)
        drawn = np.sort(rng.choice(members, min(clients, len(members)), replace=False))
        own = [federation.train[int(client)] for client in drawn]
        groups.append([Examples.of(federation.x[each], federation.y[each]) for each in own])
    return groups


def _row(found: Divergence, group: int, epoch: int) -> Row:
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
