"""Coordinate by coordinate: the median, and the mean without the ends.

Yin, Chen, Ramchandran, Bartlett: Byzantine-Robust Distributed Learning: Towards Optimal
Statistical Rates. ICML 2018, Definitions 1 and 2.
"""

import numpy as np
from numpy.typing import NDArray
from pydantic.dataclasses import dataclass

from flexcfl.aggregation.means import Weights
from flexcfl.aggregation.options import FORBID, Share, count
from flexcfl.clustering.measures import blocks
from flexcfl.protocol import Ids, Vectors

__all__ = ["Median", "TrimmedMean"]


@dataclass(frozen=True, config=FORBID)
class Median:
    """The median of each coordinate; of an even number of rows, the mean of the middle two."""

    def __call__(
        self, updates: Vectors, rows: Ids, weights: Weights, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return the median of the rows, coordinate by coordinate."""
        return _middle(updates, rows, cut=len(rows))


@dataclass(frozen=True, config=FORBID)
class TrimmedMean:
    """The mean of each coordinate without its lowest and highest values.

    ``trim`` is the share cut off at each end, rounded up to whole rows: 0.2 of 4 rows cuts one at
    each end and leaves two. One or two rows are always left, so that two rows have their mean and
    three, with any trim but 0, their median.
    """

    trim: Share = 0.3

    def __call__(
        self, updates: Vectors, rows: Ids, weights: Weights, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return the mean of what trimming leaves of the rows, coordinate by coordinate."""
        return _middle(updates, rows, count(self.trim, len(rows)))


def _middle(updates: Vectors, rows: Ids, cut: int) -> NDArray[np.float64]:
    """Return the mean without ``cut`` values at each end, or fewer where nothing would be left."""
    cut = min(cut, (len(rows) - 1) // 2)
    kept = slice(cut, len(rows) - cut)
    middle = np.empty(updates.shape[1])
    for columns in blocks(updates[: len(rows)]):
        ordered = np.sort(updates[rows, columns], axis=0)
        # Summed in float64, where the largest of float32 have a sum.
        middle[columns] = ordered[kept].mean(axis=0, dtype=np.float64)
    return middle
