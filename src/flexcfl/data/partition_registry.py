"""The partitions by name: how a labelled pool is divided among clients."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from flexcfl.data.partition import Indices, by_classes, dirichlet, iid
from flexcfl.errors import DataError
from flexcfl.extensions import Registry, understood_as

__all__ = [
    "PARTITIONS",
    "ByClasses",
    "Dirichlet",
    "Iid",
    "Partition",
    "PartitionEntry",
    "divided",
]


class Partition(Protocol):
    """A rule by which the examples of a pool are given to clients; its options are its fields."""

    def lists(
        self, labels: Indices, clients: int, rng: np.random.Generator
    ) -> Sequence[NDArray[np.integer]]:
        """Return for every client the indices of its examples, in all no example twice."""
        ...


@dataclass(frozen=True)
class ByClasses:
    """Each client has a few classes, and of each a share of power-law size."""

    classes_per_client: int
    skew: float

    def lists(self, labels: Indices, clients: int, rng: np.random.Generator) -> list[Indices]:
        """Divide by ``by_classes``."""
        return by_classes(labels, clients, self.classes_per_client, rng, self.skew)


@dataclass(frozen=True)
class Dirichlet:
    """Each class is divided over the clients in proportions drawn from a Dirichlet distribution."""

    concentration: float

    def lists(self, labels: Indices, clients: int, rng: np.random.Generator) -> list[Indices]:
        """Divide by ``dirichlet``."""
        return dirichlet(labels, clients, self.concentration, rng)


@dataclass(frozen=True)
class Iid:
    """The shuffled pool is dealt out in equal parts."""

    def lists(self, labels: Indices, clients: int, rng: np.random.Generator) -> list[Indices]:
        """Divide by ``iid``."""
        return iid(labels, clients, rng)


@dataclass(frozen=True)
class PartitionEntry:
    """One line of the registry; the fields of ``partition`` are its options."""

    summary: str
    partition: type[Partition]


PARTITIONS = Registry(
    "partition",
    {
        "classes": PartitionEntry("a few classes for each client, in unequal shares", ByClasses),
        "dirichlet": PartitionEntry("shares of each class from a Dirichlet draw", Dirichlet),
        "iid": PartitionEntry("equal parts of the shuffled pool", Iid),
    },
    understood_as(PartitionEntry, "flexcfl.data.Iid", "lists"),
)
"""Every partition by its name."""


def divided(
    partition: Partition, labels: Indices, clients: int, rng: np.random.Generator
) -> list[Indices]:
    """Return what a partition gives to each client, once it is known to make sense."""
    lists = [np.asarray(each) for each in partition.lists(labels, clients, rng)]
    name = type(partition).__name__
    if len(lists) != clients:
        raise DataError(
            f"The partition {name} gave {len(lists)} lists to {clients} clients: let it return one "
            "for each."
        )
    for client, each in enumerate(lists):
        if each.ndim != 1 or each.dtype.kind not in "iu" or not len(each):
            raise DataError(
                f"The partition {name} gave client {client} an array of type {each.dtype} and "
                f"shape {each.shape}: let it be the indices of at least one example."
            )
    indices = np.concatenate(lists)
    if indices.min() < 0 or indices.max() >= len(labels):
        raise DataError(
            f"The partition {name} gave away example {indices.max()} of {len(labels)}, which are "
            "numbered from 0: correct its indices."
        )
    if len(np.unique(indices)) < len(indices):
        raise DataError(
            f"The partition {name} gave an example to more than one client: give each to one."
        )
    return [each.astype(np.int64, copy=False) for each in lists]
