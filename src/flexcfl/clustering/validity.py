"""The quality of a clustering: within-cluster sum of squares and silhouettes.

Reference: Rousseeuw, "Silhouettes: A Graphical Aid to the Interpretation and Validation of Cluster
Analysis", Journal of Computational and Applied Mathematics 20, 1987.
"""

import numpy as np
from numpy.typing import NDArray

from flexcfl.clustering.measures import Matrix
from flexcfl.protocol import Ids


def within(points: Matrix, group_of: Ids) -> float:
    """Return the sum of the squared distances of points to the means of their groups."""
    parts = (points[group_of == group] for group in np.unique(group_of))
    return float(sum(((part - part.mean(axis=0)) ** 2).sum() for part in parts))


def silhouette(distances: Matrix, group_of: Ids) -> float | None:
    """Return the mean silhouette of all clients, or None if it is not defined.

    It needs at least two groups, and at least one group of more than one client.
    """
    each = _silhouettes(distances, group_of)
    return None if each is None else float(each.mean())


def worst_silhouette(distances: Matrix, group_of: Ids) -> float | None:
    """Return the lowest mean silhouette of a group, or None if it is not defined."""
    each = _silhouettes(distances, group_of)
    if each is None:
        return None
    return min(float(each[group_of == group].mean()) for group in np.unique(group_of))


def _silhouettes(distances: Matrix, group_of: Ids) -> NDArray[np.float64] | None:
    from sklearn.metrics import silhouette_samples  # slow to import

    if not 2 <= len(np.unique(group_of)) < len(group_of):
        return None
    return np.asarray(silhouette_samples(distances, group_of, metric="precomputed"))
