"""The clustered defence: attackers end in a cluster of their own, and the larger one counts.

Sattler, Müller, Wiegand, Samek: On the Byzantine Robustness of Clustered Federated Learning.
ICASSP 2020.
"""

from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from pydantic.dataclasses import dataclass

from flexcfl.aggregation.distances import chosen
from flexcfl.aggregation.means import Weights, weighted_mean
from flexcfl.aggregation.options import FORBID
from flexcfl.clustering import bipartition, cosines, gram
from flexcfl.clustering.measures import Matrix
from flexcfl.protocol import Ids, Vectors

__all__ = ["Clusters"]


@dataclass(frozen=True, config=FORBID)
class Clusters:
    """The mean of the larger cluster, where updates point apart.

    Updates are divided in two so that the largest cosine between the parts is smallest. Where it is
    below ``cosine``, only the larger part stays, and is divided again, since attackers need not be
    alike. Nobody is left out by a part that is not more than half of all: attackers are taken to be
    a minority, and of two halves neither can be told to be the honest one.

    It sees directions alone: attackers who point the way of the others, or elsewhere but not
    against every one of them, stay.
    """

    cosine: Annotated[float, Field(ge=-1, le=1)] = 0.0

    def __call__(
        self, updates: Vectors, rows: Ids, weights: Weights, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return the mean of the rows that stay."""
        kept = rows[_majority(cosines(gram(chosen(updates, rows))), self.cosine)]
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
