"""The number of groups: as many as are better separated than parts of a single cloud.

The cosines of the updates to their leading directions are divided into 2, 3, ... groups, and each
division is judged by the silhouette of its worst group: one group too many cuts a true group in
two, one too few joins two that differ, and both affect the worst group long before they affect the
mean. Any elongated cloud has high silhouettes too, so each silhouette is compared with those of
normal clouds of the same mean and covariance, which have no groups, much as in the gap statistic
and in SigClust. If no division exceeds its clouds, there are no groups to find. Then the updates
decide: if they mostly point the same way, one model suits all clients; if their directions differ
more than they agree, a common mean suits no client, and the largest number of groups is used.

References: Tibshirani, Walther and Hastie, "Estimating the Number of Clusters in a Data Set via the
Gap Statistic", JRSS B 63, 2001; Liu et al., "Statistical Significance of Clustering for
High-Dimension, Low-Sample Size Data", JASA 103, 2008. The alternatives and their results are in
docs/decisions/0008-number-of-groups.md and docs/decisions/0016-one-configuration.md.
"""

import numpy as np
from numpy.typing import NDArray

from flexcfl.clustering.measures import Matrix, between, cosines, edc
from flexcfl.clustering.partitions import STARTS, distinct, k_means
from flexcfl.clustering.validity import worst_silhouette

CLOUDS = 10
STARTS_IN_A_CLOUD = 3  # a cloud has no true division that K-means could miss
# Measured: up to 0.11 without groups, nearly always 0.15 or more with groups.
LEAST_GAIN = 0.12
# Beyond about ten directions there is mostly noise, which hides the groups.
MOST_DIRECTIONS = 10


def number_of_groups(products: Matrix, most_groups: int, rng: np.random.Generator) -> int:
    """Return the number of groups that the updates show, from 1 to ``most_groups``.

    ``products`` are the scalar products of the updates. Fewer than three clients are one group.
    Clients without separate groups are one group if they agree, and ``most_groups`` otherwise.
    """
    candidates = range(2, min(most_groups, len(products) - 1) + 1)
    if not candidates:
        return 1
    similarity = cosines(products)
    found = _separation(products, candidates, STARTS, rng)
    in_clouds = [
        _separation(_cloud(similarity, rng), candidates, STARTS_IN_A_CLOUD, rng)
        for _ in range(CLOUDS)
    ]
    gain = found - np.mean(in_clouds, axis=0)
    if gain.max() >= LEAST_GAIN:
        return candidates[int(gain.argmax())]
    return 1 if _agree(similarity) else _most(products, candidates)


def _agree(similarity: Matrix) -> bool:
    """Return whether the mean cosine of two clients is at least its standard deviation.

    Around one direction all pairs have nearly the same cosine, however much noise there is; if
    every client has a direction of its own, cosines scatter around a mean near zero.
    """
    pairs = similarity[np.triu_indices(len(similarity), 1)]
    return bool(pairs.mean() >= pairs.std())


def _most(products: Matrix, candidates: range) -> int:
    """Return the largest number of groups for which there are enough different clients."""
    return next(
        (groups for groups in reversed(candidates) if distinct(edc(products, groups)) >= groups), 1
    )


def _separation(
    products: Matrix, candidates: range, starts: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the worst group's silhouette for each number of groups.

    All numbers of groups are judged in the same directions: with too few directions, several groups
    would look like one. It is 0 if there are fewer distinct points than groups.
    """
    points = edc(products, min(candidates[-1], MOST_DIRECTIONS))
    distances, different = between(points), distinct(points)

    def worst(groups: int) -> float:
        if groups > different:
            return 0.0
        return worst_silhouette(distances, k_means(points, groups, rng, starts)) or 0.0

    return np.array([worst(groups) for groups in candidates])


def _cloud(similarity: Matrix, rng: np.random.Generator) -> Matrix:
    """Return the scalar products of normal draws with the mean and covariance of the directions.

    A draw is the mean plus a random sum of deviations from it: a weighted sum of the clients'
    directions, so that their scalar products are enough to compute it.
    """
    clients = len(similarity)
    drawn = rng.standard_normal((clients, clients))
    deviations = (drawn - drawn.mean(axis=1, keepdims=True)) / np.sqrt(clients - 1)
    weights = deviations + 1.0 / clients
    return np.asarray(weights @ similarity @ weights.T)
