"""How updates become one step of a model: means over groups, weighted by examples."""

import numpy as np
from numpy.typing import NDArray

from flexcfl.protocol import Ids, Vectors

__all__ = ["group_means"]


def group_means(
    updates: Vectors, group_of: Ids, groups: int, weights: NDArray[np.int64] | NDArray[np.float64]
) -> Vectors:
    """Return the weighted mean update of every group, as an array of ``groups`` rows.

    Row ``i`` of ``updates`` belongs to group ``group_of[i]`` and counts ``weights[i]``. A group
    nobody answered for, or whose weights are all zero, gets a zero step.

    >>> updates = np.array([[2, 0], [6, 4]], dtype=np.float32)
    >>> group_means(updates, np.array([1, 1]), 2, np.array([3, 1]))
    array([[0., 0.],
           [3., 1.]], dtype=float32)
    """
    means = np.zeros((groups, updates.shape[1]), dtype=np.float32)
    for group in np.unique(group_of):
        members = np.flatnonzero(group_of == group)
        total = float(weights[members].sum())
        if total > 0:
            means[group] = _weighted_sum(updates, members, weights) / total
    return means


def _weighted_sum(
    updates: Vectors, rows: Ids, weights: NDArray[np.int64] | NDArray[np.float64]
) -> NDArray[np.float64]:
    # Row by row, so that no float64 copy of all updates is made and no BLAS thread count matters.
    total = np.zeros(updates.shape[1])
    for row in rows:
        total += np.multiply(updates[row], weights[row], dtype=np.float64)
    return total
