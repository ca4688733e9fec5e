"""Rules that withstand a minority of hostile clients, whatever they send.

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

Share: TypeAlias = Annotated[float, Field(ge=0, lt=0.5)]


def count(share: float, rows: int) -> int:
    """Return a share of a number of rows, rounded up.

    It is rounded up because a small random group may well contain more hostile clients than their
    overall share.

    >>> count(0.2, 4), count(0.2, 5), count(0.07, 100)
    (1, 1, 7)
    """
    return ceil(share * rows - 1e-9)  # in floating point, 0.07 * 100 is slightly more than 7


@dataclass(frozen=True, config=FORBID)
class Median:
    """The median of each coordinate; the mean of the middle two if the number of rows is even."""

    def __call__(
        self, updates: Vectors, rows: Ids, weights: Weights, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return the median of the rows, coordinate by coordinate."""
        return _middle(updates, rows, cut=len(rows))


@dataclass(frozen=True, config=FORBID)
class TrimmedMean:
    """The mean of each coordinate without its lowest and highest values.

    ``trim`` is the share cut off at each end, rounded up to whole rows: 0.2 of 4 rows cuts one at
    each end and leaves two. At least one row is left, or two if their number is even, so two rows
    give their mean, and three rows, unless ``trim`` is 0, their median.
    """

    trim: Share = 0.3

    def __call__(
        self, updates: Vectors, rows: Ids, weights: Weights, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return the trimmed mean of the rows, coordinate by coordinate."""
        return _middle(updates, rows, count(self.trim, len(rows)))


def _middle(updates: Vectors, rows: Ids, cut: int) -> NDArray[np.float64]:
    """Return the mean without ``cut`` values at each end, or fewer if nothing would be left."""
    cut = min(cut, (len(rows) - 1) // 2)
    kept = slice(cut, len(rows) - cut)
    middle = np.empty(updates.shape[1])
    for columns in column_blocks(updates[: len(rows)]):
        ordered = np.sort(updates[rows, columns], axis=0)
        # In float64, because large float32 values could overflow in their sum.
        middle[columns] = ordered[kept].mean(axis=0, dtype=np.float64)
    return middle


@dataclass(frozen=True, config=FORBID)
class Krum:
    r"""The one update that is nearest to its neighbours.

    Of :math:`n` updates, the share ``hostile``, rounded up to :math:`f` updates, is assumed to come
    from attackers. An update's score is the sum of its squared distances to the :math:`n - f - 2`
    others that are nearest to it, and the lowest score wins.

    The paper requires :math:`n \ge 2 f + 3`, so that the neighbours of an update are never only
    attackers. Smaller groups are scored with the largest :math:`f` for which that holds, and with
    at least one neighbour. Updates with the same score share the step: with three updates, the two
    that are nearest to each other; with two, both.
    """

    hostile: Share = 0.3

    def __call__(
        self, updates: Vectors, rows: Ids, weights: Weights, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return the mean of the rows with the lowest score."""
        if len(rows) > 1:
            scores = _scores(squared_distances(gram(select_rows(updates, rows))), self.hostile)
            last = self._kept(len(rows)) - 1
            rows = rows[scores <= np.partition(scores, last)[last]]
        return weighted_mean(updates, rows, np.ones(len(rows)))

    def _kept(self, rows: int) -> int:
        return 1


@dataclass(frozen=True, config=FORBID)
class MultiKrum(Krum):
    r"""The mean of the :math:`n - f` updates with the lowest scores, as in Krum.

    :math:`f` is the share of attackers, ``hostile``, rounded up. At least one update is kept, and
    so are all updates with the same score as the last one kept.
    """

    def _kept(self, rows: int) -> int:
        return max(1, rows - count(self.hostile, rows))


def _scores(apart: Matrix, hostile: float) -> NDArray[np.float64]:
    number = len(apart)
    tolerated = max(0, min(count(hostile, number), (number - 3) // 2))
    neighbours = max(1, number - tolerated - 2)
    # The nearest is the update itself.
    return np.asarray(np.sort(apart, axis=1)[:, 1 : neighbours + 1].sum(axis=1))


@dataclass(frozen=True, config=FORBID)
class Clusters:
    """The mean of the larger cluster, if updates point in different directions.

    Updates are divided in two so that the largest cosine between the parts is as small as possible.
    If it is below ``cosine``, only the larger part is kept, and is divided again, because attackers
    need not be alike. The larger part must be more than half of all updates, otherwise none is left
    out: attackers are assumed to be a minority, and either of two halves could be the honest one.

    Only directions matter: attackers that do not point away from all other clients are kept.
    """

    cosine: Annotated[float, Field(ge=-1, le=1)] = 0.0

    def __call__(
        self, updates: Vectors, rows: Ids, weights: Weights, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return the mean of the rows that are kept."""
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
