"""Grouping clients by their updates: measures, partitions, alignment, and the number of groups.

Everything here is a pure function over flat float32 updates, or over their scalar products.
"""

from flexcfl.clustering.alignment import best_aligned
from flexcfl.clustering.founding import MEASURES, Measure, cluster
from flexcfl.clustering.measures import cosines, edc, gram, madc
from flexcfl.clustering.number import number_of_groups
from flexcfl.clustering.partitions import bipartition, complete_linkage, k_means
from flexcfl.clustering.validity import silhouette, within, worst_silhouette

__all__ = [
    "MEASURES",
    "Measure",
    "best_aligned",
    "bipartition",
    "cluster",
    "complete_linkage",
    "cosines",
    "edc",
    "gram",
    "k_means",
    "madc",
    "number_of_groups",
    "silhouette",
    "within",
    "worst_silhouette",
]
