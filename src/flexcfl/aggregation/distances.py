"""Distances between the updates of a group, from their scalar products."""

import numpy as np

from flexcfl.clustering.measures import Matrix
from flexcfl.protocol import Ids, Vectors

__all__ = ["chosen", "squared_distances"]


def chosen(updates: Vectors, rows: Ids) -> Vectors:
    """Return some rows, which are ascending; all of them are not copied."""
    return updates if len(rows) == len(updates) else updates[rows]


def squared_distances(products: Matrix) -> Matrix:
    """Return the squared distances of all pairs, symmetric to the bit, with a diagonal of zeros."""
    squares = np.diagonal(products)
    apart: Matrix = (squares[:, np.newaxis] + squares) - (products + products.T)
    np.fill_diagonal(apart, 0.0)
    return apart.clip(min=0.0)  # which rounding may fall short of
