"""Which group a client joins: the one whose direction its own update is best aligned with.

Reference: Duan et al., "Flexible Clustered Federated Learning for Client-Level Data Distribution
Shift", IEEE TPDS 2022, Eq. 8.
"""

import numpy as np
from numpy.typing import NDArray

from flexcfl.clustering.measures import BLOCK, Matrix
from flexcfl.errors import TrainingError
from flexcfl.protocol import Ids, Vectors

__all__ = ["best_aligned"]


def best_aligned(updates: Vectors, directions: Vectors) -> tuple[Ids, NDArray[np.float64]]:
    """Return, for each update, the group best aligned with it and the cosine to its direction.

    The smallest (1 - cos) / 2 is the largest cosine; the first of equals is taken. A zero update
    or direction has cosine 0 with everything. Updates that are not finite are a ``TrainingError``.
    """
    cosine = _cosines(updates, directions)
    group_of = cosine.argmax(axis=1).astype(np.int64)
    return group_of, cosine[np.arange(len(updates)), group_of]


def _cosines(updates: Vectors, directions: Vectors) -> Matrix:
    products = np.zeros((len(updates), len(directions)))
    squares = np.zeros((len(updates), 1)), np.zeros((1, len(directions)))
    # Block by block, in float64 without a float64 copy of everything.
    columns = max(1, BLOCK // (len(updates) + len(directions)))
    with np.errstate(invalid="ignore"):  # infinity times zero, which the squares tell
        for start in range(0, updates.shape[1], columns):
            ours = updates[:, start : start + columns].astype(np.float64)
            theirs = directions[:, start : start + columns].astype(np.float64)
            products += ours @ theirs.T
            squares[0][:, 0] += np.einsum("ij,ij->i", ours, ours)
            squares[1][0] += np.einsum("ij,ij->i", theirs, theirs)
    if not all(np.isfinite(each).all() for each in squares):
        raise TrainingError(
            "An update is no longer a finite number and fits no group: the pre-training of a "
            "client diverged, so lower its rate."
        )
    lengths = np.sqrt(squares[0]) * np.sqrt(squares[1])
    np.divide(products, lengths, out=products, where=lengths > 0)  # products with zero are zero
    return products.clip(-1.0, 1.0)
