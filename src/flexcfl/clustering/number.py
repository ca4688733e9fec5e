"""How many groups there are: as many as stand apart better than parts of a single cloud would.

The clients' updates are divided into 2, 3, ... groups, and each division is judged by the
silhouette of its worst group: one group too many cuts a true group in two, one too few joins two
that differ, and either shows in the worst group before it shows in the mean. Silhouettes fall
with the number of groups and are high for any elongated cloud, so each is compared with what
the same division makes of normal clouds without groups, of the same mean and covariance, as in
the gap statistic and in SigClust. If no division gains, there is one group.

References: Rousseeuw (see ``validity``); Tibshirani, Walther and Hastie, "Estimating the Number of
Clusters in a Data Set via the Gap Statistic", JRSS B 63, 2001; Liu et al., "Statistical
Significance of Clustering for High-Dimension, Low-Sample Size Data", JASA 103, 2008.
docs/decisions/0008-number-of-groups.md has what else was tried.
"""

import numpy as np
from numpy.typing import NDArray

from flexcfl.clustering.measures import Matrix, between, cosines, edc
from flexcfl.clustering.partitions import STARTS, distinct, k_means
from flexcfl.clustering.validity import worst_silhouette

__all__ = ["number_of_groups"]

CLOUDS = 10
# A cloud has no true division to miss, so fewer starts of K-means will do for it.
STARTS_IN_A_CLOUD = 3
LEAST_GAIN = 0.15


def number_of_groups(products: Matrix, most_groups: int, rng: np.random.Generator) -> int:
    """Return the number of groups, from 1 to ``most_groups``, that the updates themselves show.

    ``products`` are the scalar products of the updates. Fewer than three clients are one group.
    """
    candidates = range(2, min(most_groups, len(products) - 1) + 1)
    if not candidates:
        return 1
    found = _separation(products, candidates, STARTS, rng)
    similarity = cosines(products)
    clouds = [
        _separation(_cloud(similarity, rng), candidates, STARTS_IN_A_CLOUD, rng)
        for _ in range(CLOUDS)
    ]
    gain = found - np.mean(clouds, axis=0)
    return candidates[int(gain.argmax())] if gain.max() >= LEAST_GAIN else 1


def _separation(
    products: Matrix, candidates: range, starts: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the worst group's silhouette for each number of groups; 0 where points coincide."""
    embedding = edc(products, candidates[-1])
    return np.array([_worst(embedding[:, :groups], starts, rng) for groups in candidates])


def _worst(points: Matrix, starts: int, rng: np.random.Generator) -> float:
    groups = points.shape[1]
    if distinct(points) < groups:
        return 0.0
    return worst_silhouette(between(points), k_means(points, groups, rng, starts)) or 0.0


def _cloud(similarity: Matrix, rng: np.random.Generator) -> Matrix:
    """Return the scalar products of normal draws with the mean and covariance of the directions.

    A draw is the mean plus a random sum of deviations from it, so it needs no coordinates: it is
    a weighted sum of the clients' own directions, of which the similarities are known.
    """
    clients = len(similarity)
    drawn = rng.standard_normal((clients, clients))
    deviations = (drawn - drawn.mean(axis=1, keepdims=True)) / np.sqrt(clients - 1)
    weights = deviations + 1.0 / clients
    return np.asarray(weights @ similarity @ weights.T)
