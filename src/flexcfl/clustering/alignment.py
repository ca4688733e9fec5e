"""The group that a client joins: the one whose direction is best aligned with its update.

Reference: Duan et al., "Flexible Clustered Federated Learning for Client-Level Data Distribution
Shift", IEEE TPDS 2022, Eq. 8.
"""

import numpy as np

from flexcfl.clustering.measures import Matrix, column_blocks
from flexcfl.protocol import NO_GROUP, Ids, Vectors
from flexcfl.threads import one_thread


def best_aligned(updates: Vectors, directions: Vectors) -> Ids:
    """Return, for each update, the group best aligned with it.

    The smallest (1 - cos) / 2 is the largest cosine; the first of equals wins. A zero update or
    direction has cosine 0 with everything; an update that is not finite gets ``NO_GROUP``.
    """
    cosine = _cosines(updates, directions)
    return np.where(np.isnan(cosine).any(axis=1), NO_GROUP, cosine.argmax(axis=1))


@one_thread
def _cosines(updates: Vectors, directions: Vectors) -> Matrix:
    products = np.zeros((len(updates), len(directions)))
    squares = np.zeros((len(updates), 1)), np.zeros((1, len(directions)))
    with np.errstate(invalid="ignore"):  # infinity times zero, or divided by infinity, is NaN
        for columns in column_blocks(updates, directions):
            ours, theirs = (each[:, columns].astype(np.float64) for each in (updates, directions))
            products += ours @ theirs.T
            squares[0][:, 0] += np.einsum("ij,ij->i", ours, ours)
            squares[1][0] += np.einsum("ij,ij->i", theirs, theirs)
        lengths = np.sqrt(squares[0]) * np.sqrt(squares[1])
        # Products with zero are zero.
        np.divide(products, lengths, out=products, where=(lengths > 0) | np.isnan(lengths))
    return products.clip(-1.0, 1.0)
