"""Krum and multi-Krum: the updates that have most others near them.

Blanchard, El Mhamdi, Guerraoui, Stainer: Machine Learning with Adversaries: Byzantine Tolerant
Gradient Descent. NeurIPS 2017, Sections 3 and 5.
"""

import numpy as np
from numpy.typing import NDArray
from pydantic.dataclasses import dataclass

from flexcfl.aggregation.distances import chosen, squared_distances
from flexcfl.aggregation.means import Weights, weighted_mean
from flexcfl.aggregation.options import FORBID, Share, count
from flexcfl.clustering import gram
from flexcfl.protocol import Ids, Vectors

__all__ = ["Krum", "MultiKrum"]


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
        """Return the row of the lowest score."""
        return _best(updates, rows, self.hostile, kept=1)


@dataclass(frozen=True, config=FORBID)
class MultiKrum:
    r"""The mean of the :math:`n - f` updates of the lowest scores, which are those of Krum.

    :math:`f` is the share of attackers, ``hostile``, rounded up. However small the group, so many
    are left out, but for the last one, and for updates of the same score as the last that is kept.
    """

    hostile: Share = 0.3

    def __call__(
        self, updates: Vectors, rows: Ids, weights: Weights, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return the mean of the rows of the lowest scores."""
        kept = max(1, len(rows) - count(self.hostile, len(rows)))
        return _best(updates, rows, self.hostile, kept)


def _best(updates: Vectors, rows: Ids, hostile: float, kept: int) -> NDArray[np.float64]:
    if len(rows) > 1:
        scores = _scores(squared_distances(gram(chosen(updates, rows))), hostile)
        rows = rows[scores <= np.partition(scores, kept - 1)[kept - 1]]
    return weighted_mean(updates, rows, np.ones(len(rows)))


def _scores(apart: NDArray[np.float64], hostile: float) -> NDArray[np.float64]:
    number = len(apart)
    tolerated = max(0, min(count(hostile, number), (number - 3) // 2))
    neighbours = max(1, number - tolerated - 2)
    # The nearest of all is an update itself.
    scores: NDArray[np.float64] = np.sort(apart, axis=1)[:, 1 : neighbours + 1].sum(axis=1)
    return scores
