"""Federations: real datasets, partitions, and where their files come from."""

from flexcfl.data.catalogue import DATASETS, Dataset, dataset_named, load_federation
from flexcfl.data.federation import Federation, IndexLists
from flexcfl.data.leaf import leaf
from flexcfl.data.made import MadeLists
from flexcfl.data.partition import by_classes, by_owner, dirichlet, iid, split
from flexcfl.data.partitions import PARTITIONS, ByClasses, Dirichlet, Iid, Partition, PartitionEntry

__all__ = [
    "DATASETS",
    "PARTITIONS",
    "ByClasses",
    "Dataset",
    "Dirichlet",
    "Federation",
    "Iid",
    "IndexLists",
    "MadeLists",
    "Partition",
    "PartitionEntry",
    "by_classes",
    "by_owner",
    "dataset_named",
    "dirichlet",
    "iid",
    "leaf",
    "load_federation",
    "split",
]
