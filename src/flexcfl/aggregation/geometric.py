"""The geometric median: the point whose distances to all updates have the smallest sum.

Pillutla, Kakade, Harchaoui: Robust Aggregation for Federated Learning. IEEE Transactions on Signal
Processing 70, 2022 (RFA), Algorithm 2: the smoothed Weiszfeld algorithm.
"""

from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from pydantic.dataclasses import dataclass

from flexcfl.aggregation.means import FORBID, Weights, weighted_mean
from flexcfl.clustering import gram
from flexcfl.clustering.measures import Matrix
from flexcfl.protocol import Ids, Vectors

ITERATIONS = 32
SMOOTHING = 1e-6


@dataclass(frozen=True, config=FORBID)
class GeometricMedian:
    r"""The geometric median :math:`\arg\min_z \sum_i \|z - u_i\|` of the updates :math:`u_i`.

    Each of the ``iterations`` weights every update by one over its distance to the current mean
    and computes the mean again. Distances below ``smoothing`` are raised to it. Its unit is the
    smallest radius around an update that contains more than half of all updates.
    """

    iterations: Annotated[int, Field(ge=1, le=10**4)] = ITERATIONS
    smoothing: Annotated[float, Field(gt=0, le=1)] = SMOOTHING

    def __call__(
        self, updates: Vectors, rows: Ids, weights: Weights, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return the geometric median of the rows."""
        return geometric_median(select_rows(updates, rows), self.iterations, self.smoothing)


def geometric_median(
    vectors: Vectors, iterations: int = ITERATIONS, smoothing: float = SMOOTHING
) -> NDArray[np.float64]:
    """Return the geometric median of one or more vectors, by the smoothed Weiszfeld algorithm.

    >>> geometric_median(np.array([[0, 0], [0, 0], [9, 9]], dtype=np.float32))
    array([0., 0.])
    """
    weights = geometric_weights(gram(vectors), iterations, smoothing)
    return weighted_mean(vectors, np.arange(len(vectors)), weights)


def geometric_weights(
    products: Matrix, iterations: int = ITERATIONS, smoothing: float = SMOOTHING
) -> NDArray[np.float64]:
    """Return the weight of each vector in the geometric median, from their scalar products.

    The weights sum to one. A vector's reach is the smallest radius around it that contains more
    than half of all vectors, itself included; it is long for a distant minority. The first weights
    are one over the reach, because iterations that start from the plain mean need longer to
    converge the further away the minority is.
    """
    reach = np.sqrt(np.sort(squared_distances(products), axis=1)[:, len(products) // 2])
    if reach.min() == 0:  # more than half are equal, and so is the median
        return _normalised(np.equal(reach, 0).astype(np.float64))
    shortest = smoothing * reach.min()
    weights = _normalised(1 / reach)
    for _ in range(iterations):
        weights = _normalised(1 / np.maximum(_distances(products, weights), shortest))
    return weights


def _distances(products: Matrix, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distance of each vector to the weighted mean of all."""
    to_mean = (products * weights).sum(axis=1)
    squares = np.diagonal(products) - 2 * to_mean + (weights * to_mean).sum()
    return np.asarray(np.sqrt(squares.clip(min=0.0)))


def _normalised(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(weights / weights.sum())


def select_rows(updates: Vectors, rows: Ids) -> Vectors:
    """Return the given ascending rows, without a copy if these are all of them."""
    return updates if len(rows) == len(updates) else updates[rows]


def squared_distances(products: Matrix) -> Matrix:
    """Return the squared distances of all pairs, symmetric to the bit, with a diagonal of zeros."""
    squares = np.diagonal(products)
    apart: Matrix = (squares[:, np.newaxis] + squares) - (products + products.T)
    np.fill_diagonal(apart, 0.0)
    return apart.clip(min=0.0)  # rounding may make a distance slightly negative
