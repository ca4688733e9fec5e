"""Federations: built-in datasets, your own data, and partitions."""

from flexcfl.data.arrays import from_arrays
from flexcfl.data.client_lists import IndexLists, MadeLists
from flexcfl.data.dataset_objects import from_dataset, from_partitions
from flexcfl.data.datasets import DATASETS, Dataset, dataset_named, load_federation
from flexcfl.data.federation import Federation
from flexcfl.data.leaf import from_leaf
from flexcfl.data.npz import from_folder
from flexcfl.data.options import PARTITIONS, ByClasses, Dirichlet, Iid, Partition, PartitionEntry
from flexcfl.data.partition import by_classes, by_owner, dirichlet, iid, split

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
    "from_arrays",
    "from_dataset",
    "from_folder",
    "from_leaf",
    "from_partitions",
    "iid",
    "load_federation",
    "split",
]
