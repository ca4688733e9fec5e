"""Rules that withstand a minority of hostile clients, whatever these send.

``Median``, ``TrimmedMean``: Yin, Chen, Ramchandran, Bartlett: Byzantine-Robust Distributed
Learning: Towards Optimal Statistical Rates. ICML 2018, Definitions 1 and 2.

``Krum``, ``MultiKrum``: Blanchard, El Mhamdi, Guerraoui, Stainer: Machine Learning with
Adversaries: Byzantine Tolerant Gradient Descent. NeurIPS 2017, Sections 3 and 5.

``Clusters``: Sattler, Müller, Wiegand, Samek: On the Byzantine Robustness of Clustered Federated
Learning. ICASSP 2020.
"""

from math import ceil
from typing import Annotated, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from pydantic.dataclasses import dataclass

from flexcfl.aggregation.geometric import select_rows, squared_distances
from flexcfl.aggregation.means import FORBID, Weights, weighted_mean
from flexcfl.clustering import bipartition, cosines, gram
from flexcfl.clustering.measures import Matrix, column_blocks
from flexcfl.protocol import Ids, Vectors

__all__ = ["Clusters", "Krum", "Median", "MultiKrum", "TrimmedMean"]

Share: TypeAlias = Annotated[float, Field(ge=0, lt=0.5)]


def count(share: float, rows: int) -> int:
    """Return how many of so many rows a share is, rounded up.

    A small group that was drawn at random may well hold more hostile clients than their share, so
    that a part of a row counts as one.

    >>> count(0.2, 4), count(0.2, 5), count(0.07, 100)
    (1, 1, 7)
    """
    return ceil(share * rows - 1e-9)  # 0.07 of 100 is a trace more than 7 in floating point


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
    for columns in column_blocks(updates[: len(rows)]):
        ordered = np.sort(updates[rows, columns], axis=0)
        # Summed in float64, where the largest of float32 have a sum.
        middle[columns] = ordered[kept].mean(axis=0, dtype=np.float64)
    return middle


@dataclass(frozen=True, config=FORBID)
class Krum:
    r"""The one update that is nearest to its neighbours.

    Of :math:`n` updates a share, ``hostile``, is taken to come from attackers, rounded up to
    :math:`f`. An update's score is the sum of its squared distances to the :math:`n - f - 2`
    others that are nearest to it, and the lowest score wins.

    The paper asks for :math:`n \ge 2 f + 3`, so that attackers alone never are enough neighbours.
    Smaller groups are scored with the largest :math:`f` for which that holds, and with at least one
    neighbour. Updates of the same score share the step: of three updates the two that are nearest
    to each other, of two both.
    """

    hostile: Share = 0.3

    def __call__(
        self, updates: Vectors, rows: Ids, weights: Weights, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return the mean of the rows of the lowest scores."""
        if len(rows) > 1:
            scores = _scores(squared_distances(gram(select_rows(updates, rows))), self.hostile)
            last = self._kept(len(rows)) - 1
            rows = rows[scores <= np.partition(scores, last)[last]]
        return weighted_mean(updates, rows, np.ones(len(rows)))

    def _kept(self, rows: int) -> int:
        return 1


@dataclass(frozen=True, config=FORBID)
class MultiKrum(Krum):
    r"""The mean of the :math:`n - f` updates of the lowest scores, which are those of Krum.

    :math:`f` is the share of attackers, ``hostile``, rounded up. However small the group, so many
    are left out, but for the last one, and for updates of the same score as the last that is kept.
    """

    def _kept(self, rows: int) -> int:
        return max(1, rows - count(self.hostile, rows))


def _scores(apart: Matrix, hostile: float) -> NDArray[np.float64]:
    number = len(apart)
    tolerated = max(0, min(count(hostile, number), (number - 3) // 2))
    neighbours = max(1, number - tolerated - 2)
    # The nearest of all is an update itself.
    return np.asarray(np.sort(apart, axis=1)[:, 1 : neighbours + 1].sum(axis=1))


@dataclass(frozen=True, config=FORBID)
class Clusters:
    """The mean of the larger cluster, where updates point apart.

    Updates are divided in two so that the largest cosine between the parts is smallest. If it is
    below ``cosine``, only the larger part stays, and is divided again, since attackers need not be
    alike. A part that is not more than half of all leaves no update out: attackers are taken to be
    a minority, and of two halves neither is known to be the honest one.

    It sees directions alone: attackers who point the way of the others, or elsewhere but not
    against every one of them, stay.
    """

    cosine: Annotated[float, Field(ge=-1, le=1)] = 0.0

    def __call__(
        self, updates: Vectors, rows: Ids, weights: Weights, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return the mean of the rows that stay."""
        kept = rows[_majority(cosines(gram(select_rows(updates, rows))), self.cosine)]
        return weighted_mean(updates, kept, np.ones(len(kept)))


def _majority(similarity: Matrix, threshold: float) -> Ids:
    kept = np.arange(len(similarity))
    while len(kept) > 2:
        among = similarity[np.ix_(kept, kept)]
        other = bipartition(among)
        larger = kept[other == (2 * other.sum() > len(kept))]
        if among[other][:, ~other].max() >= threshold or 2 * len(larger) <= len(similarity):
            break
        kept = larger
    return kept
