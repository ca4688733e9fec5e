"""Which updates are in proportion to those that came with them, in length."""

import numpy as np
from numpy.typing import NDArray

from flexcfl.aggregation import norms
from flexcfl.protocol import Vectors

__all__ = ["FEWEST", "longest", "shortened"]

REST = 0.01  # of the length of a model: shorter updates are at rest
FEWEST = 3  # two have no middle that says which of them is strange


def longest(lengths: NDArray[np.float64], models: Vectors, factor: float | None) -> float:
    """Return the bound on lengths: ``factor`` times their median, which no minority can move far.

    Of an even number it is the lower of the middle two. Of one or two it says nothing, and the
    longest of the ``models`` that were trained is the measure. A hundredth of that always is:
    where most have come to rest, who has drifted moves any number of times as far as they do.
    There is no bound where all is zero, or there is nobody.

    >>> longest(np.array([1.0, 2.0, 1e6]), np.ones((1, 9), np.float32), 10.0)
    20.0
    >>> longest(np.array([1e6]), np.ones((1, 9), np.float32), 10.0)
    30.0
    """
    if factor is None or not len(lengths):
        return np.inf
    middle, model = (len(lengths) - 1) // 2, norms(models).max()
    median = np.partition(lengths, middle)[middle] if len(lengths) >= FEWEST else model
    measure = float(max(median, REST * model))
    return factor * measure if measure > 0 else np.inf


def shortened(updates: Vectors, lengths: NDArray[np.float64], bound: float) -> Vectors:
    """Return a copy in which updates longer than the bound have been scaled down to it."""
    short = updates.copy()
    for row in np.flatnonzero(lengths > bound):
        factor = bound / lengths[row]
        np.multiply(updates[row], factor, out=short[row], dtype=np.float64, casting="same_kind")
    return short
