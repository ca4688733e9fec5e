"""How far clients' examples are from everybody's, whatever their labels: of their means.

A distance is given in multiples of what chance alone would make of it: about 1 where clients draw
from one pool, as the root of the F-ratio of an analysis of variance is.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flexcfl.data.federation import Federation
from flexcfl.seeds import generator

__all__ = ["Distances", "distances"]

MOST_CLIENTS = 1000  # of more of them so many are looked at
MOST_AXES = 64  # of longer examples so many random directions
ROWS = 10_000  # examples that are projected at once


@dataclass(frozen=True, eq=False)
class Distances:
    """The distance of each client that is looked at, and of all together; NaN where none is."""

    each: NDArray[np.float64]
    all: float


def distances(federation: Federation) -> tuple[Distances, Distances]:
    """Return distances of clients' means from the mean of all, and the same class by class.

    Where labels alone differ, the first are above 1 and the second are not.
    """
    count = min(federation.clients, MOST_CLIENTS)
    looked_at = np.linspace(0, federation.clients - 1, count).round().astype(np.int64)
    lists = federation.train.gathered(looked_at)
    rows, place = np.unique(lists.indices, return_inverse=True)
    values = _projected(federation.x, rows)[place]
    client = np.repeat(np.arange(count), lists.sizes)
    labels = np.unique(federation.y[lists.indices], return_inverse=True)[1]
    return _apart(values, client, np.zeros_like(labels)), _apart(values, client, labels)


def _projected(x: NDArray[np.float32], rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return examples in few directions, which keeps the ratios of distances, by a tenth or so."""
    width = int(np.prod(x.shape[1:]))
    axes = generator(0, "distances").standard_normal((width, MOST_AXES), dtype=np.float32)
    blocks = (rows[start : start + ROWS] for start in range(0, len(rows), ROWS))
    flat = (x[block].reshape(len(block), width) for block in blocks)
    parts = [each if width <= MOST_AXES else each @ axes for each in flat]
    return np.concatenate(parts).astype(np.float64)


def _apart(
    values: NDArray[np.float64], client: NDArray[np.int64], kind: NDArray[np.int64]
) -> Distances:
    """Hold the means of cells, a client's examples of a kind, against those of their kinds."""
    kinds = int(kind.max()) + 1
    cells, cell, sizes = np.unique(client * kinds + kind, return_inverse=True, return_counts=True)
    owner, kind_of = np.divmod(cells, kinds)
    means, totals = _means(values, cell), np.bincount(kind)
    within = np.square(values - means[cell]).sum() / max(len(values) - len(cells), 1)
    found = sizes * np.square(means - _means(values, kind)[kind_of]).sum(axis=1)
    # Who has all examples of a kind is its centre, and says nothing.
    expected = within * (1 - sizes / totals[kind_of])
    each, chance = (np.bincount(owner, part).astype(np.float64) for part in (found, expected))
    known = chance > 0
    ratios = np.divide(each, chance, out=np.full_like(each, np.nan), where=known)
    whole = np.sqrt(each[known].sum() / chance.sum()) if known.any() else np.nan
    return Distances(np.sqrt(ratios), float(whole))


def _means(values: NDArray[np.float64], group: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the mean of each group of rows, of which none is empty."""
    sums = np.stack([np.bincount(group, column) for column in values.T], axis=1)
    means: NDArray[np.float64] = sums / np.bincount(group)[:, None]
    return means
