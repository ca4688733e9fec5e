"""Agglomerative clustering of updates, and the nearest cluster for a further update.

The distances and linkages are those that Briggs, Fan, Andras compare for FL+HC (IJCNN 2020). SciPy
is imported inside the functions, because importing it is slow.
"""

from collections.abc import Iterator
from functools import reduce
from typing import Literal, TypeAlias

import numpy as np

from flexcfl.clustering.alignment import best_aligned
from flexcfl.clustering.measures import Matrix, column_blocks, cosines
from flexcfl.protocol import Ids, Vectors

Metric: TypeAlias = Literal["manhattan", "euclidean", "cosine"]
Linkage: TypeAlias = Literal["complete", "single", "average", "ward"]


def pairwise_distances(updates: Vectors, products: Matrix, metric: Metric) -> Matrix:
    """Return the distances of all pairs of updates, given their scalar ``products``.

    A zero update has cosine distance 1 to all others.
    """
    from scipy.spatial.distance import pdist, squareform

    if metric == "manhattan":
        pairs = _summed(pdist(updates[:, block], "cityblock") for block in column_blocks(updates))
        return np.asarray(squareform(pairs))
    if metric == "cosine":
        apart = 1 - cosines(products)
    else:
        squares = np.diagonal(products)
        apart = np.sqrt(np.maximum(squares[:, np.newaxis] + squares - 2 * products, 0))
    np.fill_diagonal(apart, 0)
    return apart


def agglomerated(
    distances: Matrix, linkage: Linkage, groups: int, threshold: float | None = None
) -> Ids:
    """Return the cluster of each client; clusters are numbered by first appearance.

    Starting from single clients, clusters are merged until ``groups`` of them are left or, if a
    ``threshold`` is given, as long as two clusters are no further apart than that.
    """
    from scipy.cluster.hierarchy import linkage as merged_by
    from scipy.spatial.distance import squareform

    clients = len(distances)
    if not 1 <= groups <= clients and threshold is None:
        raise ValueError(f"{clients} clients cannot form {groups} groups")
    pairs = squareform(distances, checks=False)
    merged = merged_by(pairs, linkage) if clients > 1 else np.empty((0, 4))
    merges = clients - groups
    if threshold is not None:
        merges = int(np.searchsorted(merged[:, 2], threshold, side="right"))
    # Merges come in order of distance, and merge i makes node clients + i of a tree. The tree is
    # cut here, because SciPy's fcluster makes too few clusters if distances tie.
    lowest = list(range(clients))  # the first client under each node
    label_of = np.arange(clients)
    for one, other in merged[:merges, :2].astype(np.int64):
        first, second = sorted((lowest[one], lowest[other]))
        label_of[label_of == second] = first
        lowest.append(first)
    return np.asarray(np.unique(label_of, return_inverse=True)[1], dtype=np.int64)


def nearest_direction(updates: Vectors, directions: Vectors, metric: Metric) -> Ids:
    """Return the direction nearest to each update; the first of equals wins."""
    from scipy.spatial.distance import cdist

    if metric == "cosine":
        return best_aligned(updates, directions)
    name = "cityblock" if metric == "manhattan" else "sqeuclidean"
    columns = column_blocks(updates, directions)
    apart = _summed(cdist(updates[:, block], directions[:, block], name) for block in columns)
    return np.asarray(np.argmin(apart, axis=1), dtype=np.int64)


def _summed(parts: Iterator[Matrix]) -> Matrix:
    return reduce(np.add, parts)
