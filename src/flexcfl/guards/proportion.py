"""Which updates are in proportion to those that came with them, in length and in direction."""

import numpy as np
from numpy.typing import NDArray

from flexcfl.aggregation import geometric_median, norms
from flexcfl.protocol import Flags, Vectors

__all__ = ["aligned", "centre_of", "longest", "shortened"]

FEWEST = 3  # two have no middle that says which of them is strange
NOWHERE = 1e-6  # a centre of unit vectors that is shorter than this points nowhere


def longest(lengths: NDArray[np.float64], models: Vectors, factor: float | None) -> float:
    """Return the bound on lengths: ``factor`` times their median, which no minority can move far.

    Of one or two the median says nothing, and the longest of the ``models`` that were trained is
    the measure. There is no bound where the measure is zero, or there is nobody.

    >>> longest(np.array([1.0, 2.0, 1e6]), np.ones((1, 9), np.float32), 10.0)
    20.0
    >>> longest(np.array([1e6]), np.ones((1, 9), np.float32), 10.0)
    30.0
    """
    if factor is None or not len(lengths):
        return np.inf
    measure = float(np.median(lengths) if len(lengths) >= FEWEST else norms(models).max())
    return factor * measure if measure > 0 else np.inf


def shortened(updates: Vectors, lengths: NDArray[np.float64], bound: float) -> Vectors:
    """Return a copy in which updates longer than the bound have been scaled down to it."""
    short = updates.copy()
    for row in np.flatnonzero(lengths > bound):
        factor = bound / lengths[row]
        np.multiply(updates[row], factor, out=short[row], dtype=np.float64, casting="same_kind")
    return short


def centre_of(updates: Vectors) -> NDArray[np.float64] | None:
    """Return the geometric median of all directions, as a unit vector.

    Each update counts for its direction alone, so that none gains from being long. Hostile ones
    that all point the same way are a denser crowd than honest ones that do not: where these have
    little in common, a minority can still be the centre. There is none where fewer than three have
    a direction, or these cancel out: then nobody can be told from the others.
    """
    lengths = norms(updates)
    moved = np.flatnonzero(lengths)
    if len(moved) < FEWEST:
        return None
    centre = geometric_median(_directions(updates, lengths, moved))
    length = float(np.sqrt(np.square(centre).sum()))
    return None if length < NOWHERE else centre / length


def aligned(updates: Vectors, centre: NDArray[np.float64] | None, least: float) -> Flags:
    """Return which updates have at least this cosine to a centre, which is all if there is none.

    A zero update has no direction and cosine 0.
    """
    if centre is None:
        return np.ones(len(updates), dtype=np.bool_)
    lengths = norms(updates)
    along = np.einsum("ij,j->i", updates, centre, dtype=np.float64)
    cosine = np.divide(along, lengths, out=np.zeros_like(along), where=lengths > 0)
    return np.asarray(cosine >= least)


def _directions(updates: Vectors, lengths: NDArray[np.float64], rows: NDArray[np.intp]) -> Vectors:
    directions = np.empty((len(rows), updates.shape[1]), dtype=np.float32)
    # One at a time, so that no float64 copy of all updates is made.
    for own, row in zip(directions, rows, strict=True):
        np.divide(updates[row], lengths[row], out=own, dtype=np.float64, casting="same_kind")
    return directions
