"""Dividing clients into groups: by K-means++, by complete linkage, and into two by their cosines.

References: Arthur and Vassilvitskii, "k-means++: The Advantages of Careful Seeding", SODA 2007;
Sattler, Mueller and Samek, "Clustered Federated Learning: Model-Agnostic Distributed Multitask
Optimization Under Privacy Constraints", IEEE TNNLS 2021, for the division into two.

Groups are numbered by first appearance, so that the same division always has the same numbers.
scikit-learn is imported inside the functions, because importing it takes a second.
"""

import numpy as np

from flexcfl.clustering.agglomeration import agglomerated
from flexcfl.clustering.measures import Matrix
from flexcfl.errors import TrainingError
from flexcfl.protocol import Flags, Ids
from flexcfl.threads import one_thread

STARTS = 10
# Points closer than this are one point: cosines of float32 updates are not more exact, and K-means
# must not separate points that differ by rounding only.
DECIMALS = 6


def k_means(points: Matrix, groups: int, rng: np.random.Generator, starts: int = STARTS) -> Ids:
    """Divide points into exactly ``groups`` by K-means++, the best of ``starts`` attempts.

    Raises:
        TrainingError: If there are fewer different points than groups.

    """
    from sklearn.cluster import KMeans

    check_distinct(points, groups)
    seed = int(rng.integers(2**31))
    fit = one_thread(KMeans(groups, n_init=starts, random_state=seed).fit)
    return _by_appearance(fit(_rounded(points)).labels_)


def distinct(points: Matrix) -> int:
    """Return the number of different points, to the precision of ``k_means``."""
    return len(np.unique(_rounded(points), axis=0))


def check_distinct(points: Matrix, groups: int) -> None:
    """Raise a ``TrainingError`` if there are fewer different points than groups."""
    found = distinct(points)
    if found < groups:
        raise TrainingError(
            f"The number of different directions among the clients' updates is {found}, too few "
            f"for {groups} groups: ask for fewer groups, or pre-train for longer."
        )


def complete_linkage(distances: Matrix, groups: int) -> Ids:
    """Merge the two groups with the smallest largest distance until ``groups`` are left."""
    return agglomerated(distances, "complete", groups)


def bipartition(similarity: Matrix) -> Flags:
    """Divide clients in two so that the largest similarity across the division is smallest.

    This removes the weakest edge of a maximum spanning tree, which is single linkage with two
    groups. The result is True for the clients that are not in the first client's group.
    """
    return np.equal(agglomerated(1.0 - similarity, "single", 2), 1)


def _by_appearance(labels: Ids) -> Ids:
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse].astype(np.int64)


def _rounded(points: Matrix) -> Matrix:
    return np.round(points, DECIMALS) + 0.0  # so that there is no negative zero
