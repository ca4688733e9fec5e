"""The model that fits a client best, by its losses."""

import numpy as np
from numpy.typing import NDArray

from flexcfl.protocol.vectors import NO_GROUP, Ids


def lowest_finite(losses: NDArray[np.float64]) -> Ids:
    """Return the column of the lowest finite loss in each row; the first of equals wins.

    A row without a finite loss gets ``NO_GROUP``, because a diverged model fits no client.

    >>> lowest_finite(np.array([[np.nan, 2.0, 1.0], [np.inf, np.nan, -np.inf]]))
    array([ 2, -1])
    """
    finite = np.isfinite(losses)
    lowest = np.argmin(np.where(finite, losses, np.inf), axis=1)
    return np.where(finite.any(axis=1), lowest, NO_GROUP)
