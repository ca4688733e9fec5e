"""Clients divided into groups: by K-means++, by complete linkage, and into two by their cosines.

References: Arthur and Vassilvitskii, "k-means++: The Advantages of Careful Seeding", SODA 2007;
Sattler, Mueller and Samek, "Clustered Federated Learning: Model-Agnostic Distributed Multitask
Optimization Under Privacy Constraints", IEEE TNNLS 2021, for the division into two.

Groups are numbered by first appearance, so that the same division always has the same numbers.
scikit-learn is imported inside the functions, because that takes a second.
"""

import numpy as np

from flexcfl.clustering.agglomeration import agglomerated
from flexcfl.clustering.measures import Matrix
from flexcfl.errors import TrainingError
from flexcfl.protocol import Flags, Ids
from flexcfl.threads import one_thread

__all__ = ["bipartition", "check_distinct", "complete_linkage", "distinct", "k_means"]

STARTS = 10
# Points closer than this are one point: cosines of float32 updates are no more exact, and K-means
# must not be asked to tell apart what rounding made different.
DECIMALS = 6


def k_means(points: Matrix, groups: int, rng: np.random.Generator, starts: int = STARTS) -> Ids:
    """Divide points by K-means++, the best of ``starts`` attempts, into exactly ``groups``.

    Fewer different points than groups are a ``TrainingError``.
    """
    from sklearn.cluster import KMeans

    check_distinct(points, groups)
    seed = int(rng.integers(2**31))
    fit = one_thread(KMeans(groups, n_init=starts, random_state=seed).fit)
    return _by_appearance(fit(_rounded(points)).labels_)


def distinct(points: Matrix) -> int:
    """Return how many different points there are, to the precision of ``k_means``."""
    return len(np.unique(_rounded(points), axis=0))


def check_distinct(points: Matrix, groups: int) -> None:
    """Raise a ``TrainingError`` where there are fewer different points than groups."""
    found = distinct(points)
    if found < groups:
        raise TrainingError(
            f"The number of different directions among the clients' updates is {found}, too few "
            f"for {groups} groups: ask for fewer groups, or pre-train for longer."
        )


def complete_linkage(distances: Matrix, groups: int) -> Ids:
    """Merge the two groups whose furthest members are nearest, until so many groups are left."""
    return agglomerated(distances, "complete", groups)


def bipartition(similarity: Matrix) -> Flags:
    """Divide clients in two so that the largest similarity across the division is smallest.

    That division leaves the weakest link of a maximum spanning tree open, which is where single
    linkage has two groups left. True are the clients that are not with the first one.
    """
    return np.equal(agglomerated(1.0 - similarity, "single", 2), 1)


def _by_appearance(labels: Ids) -> Ids:
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse].astype(np.int64)


def _rounded(points: Matrix) -> Matrix:
    return np.round(points, DECIMALS) + 0.0  # so that there is no negative zero
