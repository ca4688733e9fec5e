"""The settings that datasets share: the user's own folder, or a partition and what it takes."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from flexcfl.data.client_lists import IndexLists
from flexcfl.data.partition import Indices, by_classes, dirichlet, iid, split
from flexcfl.errors import DataError
from flexcfl.extensions import Registry, entry_maker
from flexcfl.seeds import generator
from flexcfl.settings import short_repr, validated

__all__ = [
    "FORBID",
    "PARTITIONS",
    "PARTITION_SETTINGS",
    "ByClasses",
    "Count",
    "Defaults",
    "Dirichlet",
    "FolderOptions",
    "Iid",
    "Partition",
    "PartitionEntry",
    "PoolOptions",
    "Seed",
    "Share",
    "apply_partition",
    "partition_defaults",
    "repartition",
]

FORBID = ConfigDict(extra="forbid")

Count: TypeAlias = Annotated[int, Field(ge=1, le=10**6)]
Seed: TypeAlias = Annotated[int, Field(ge=0, lt=2**32)]
Concentration: TypeAlias = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Skew: TypeAlias = Annotated[float, Field(ge=0, le=10)]
Share: TypeAlias = Annotated[float, Field(gt=0, lt=1)]
Defaults: TypeAlias = Mapping[str, Mapping[str, float]]

OPTIONS = ("classes_per_client", "concentration", "skew")
PARTITION_SETTINGS = ("clients", *OPTIONS, "test_share", "options")


@dataclass(frozen=True, config=FORBID)
class FolderOptions:
    """The user's own dataset, in a ``folder`` that must be given; ``content`` is what it holds."""

    content: ClassVar[str] = ""

    folder: Path | None = None

    def __post_init__(self) -> None:
        self.root()

    def root(self) -> Path:
        """Return the folder, or raise the sentence on how it is given."""
        if self.folder is None:
            raise ValueError(
                f"folder must be given: name the folder {self.content} with --set data.folder=DIR "
                "(in Python: folder=DIR)."
            )
        return self.folder


class Partition(Protocol):
    """A rule by which the examples of a pool are given to clients; its options are its fields."""

    def lists(
        self, labels: Indices, clients: int, rng: np.random.Generator
    ) -> Sequence[NDArray[np.integer]]:
        """Return for every client the indices of its examples, in all no example twice."""
        ...


@dataclasses.dataclass(frozen=True)
class ByClasses:
    """Each client has a few classes, and of each a share of power-law size."""

    classes_per_client: int
    skew: float

    def lists(self, labels: Indices, clients: int, rng: np.random.Generator) -> list[Indices]:
        """Divide by ``by_classes``."""
        return by_classes(labels, clients, self.classes_per_client, rng, self.skew)


@dataclasses.dataclass(frozen=True)
class Dirichlet:
    """Each class is divided over the clients in proportions drawn from a Dirichlet distribution."""

    concentration: float

    def lists(self, labels: Indices, clients: int, rng: np.random.Generator) -> list[Indices]:
        """Divide by ``dirichlet``."""
        return dirichlet(labels, clients, self.concentration, rng)


@dataclasses.dataclass(frozen=True)
class Iid:
    """The shuffled pool is dealt out in equal parts."""

    def lists(self, labels: Indices, clients: int, rng: np.random.Generator) -> list[Indices]:
        """Divide by ``iid``."""
        return iid(labels, clients, rng)


@dataclasses.dataclass(frozen=True)
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
    entry_maker(PartitionEntry, "flexcfl.data.Iid", "lists"),
)
"""Every partition by its name."""


def partition_defaults(clients: int, skew: float = 2.0, test_share: float = 0.1) -> Defaults:
    """Return what each of our own partitions takes, with the defaults for one dataset."""
    common = {"clients": clients, "test_share": test_share}
    return {
        "classes": {**common, "classes_per_client": 2, "skew": skew},
        "dirichlet": {**common, "concentration": 0.5},
        "iid": common,
    }


@dataclass(frozen=True, config=FORBID)
class PoolOptions:
    """A partition of a labelled pool and what it takes.

    ``published`` is the partition known from the literature; ``classes``, ``dirichlet`` and ``iid``
    divide the same pool anew, as does one's own, ``package.module:Class``, which takes its
    ``options``. Of the other settings, those that the partition takes have the defaults that
    ``defaults`` gives for it; those that it does not take are None, and giving one is refused.
    """

    defaults: ClassVar[Defaults] = {}

    partition: str
    seed: Seed
    clients: Count | None = None
    classes_per_client: Count | None = None
    concentration: Concentration | None = None
    skew: Skew | None = None
    test_share: Share | None = None
    options: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.partition not in self.defaults and self.partition not in PARTITIONS:
            known = ", ".join(f"'{each}'" for each in self.defaults)
            raise ValueError(
                f"partition must be {known} or one of your own, package.module:Class, not "
                f"{short_repr(self.partition)}."
            )
        takes = self.takes(self.partition)
        for name in PARTITION_SETTINGS:
            if getattr(self, name) is None:
                object.__setattr__(self, name, takes.get(name))
            elif name not in takes:
                raise ValueError(_does_not_apply(name, self.partition, self.defaults))
        if self.options is not None:
            self.made()  # so that options that it does not have are refused now

    def taken(self) -> dict[str, Any]:
        """Return the settings that the chosen partition takes, apart from the seed."""
        return {name: getattr(self, name) for name in self.takes(self.partition)}

    def made(self) -> Partition:
        """Return the chosen partition of the pool, which is not the published one."""
        kind = PARTITIONS[self.partition].partition
        if self.options is not None:
            return validated(kind, self.options, "[data] options")
        return kind(**{name: value for name, value in self.taken().items() if name in OPTIONS})

    @classmethod
    def takes(cls, partition: str) -> Mapping[str, Any]:
        """Return what a partition takes, with defaults; one's own takes ``options`` of its own."""
        return cls.defaults.get(partition, {**cls.defaults["iid"], "options": {}})


def _does_not_apply(name: str, partition: str, defaults: Defaults) -> str:
    takers = " or ".join(f"'{other}'" for other, takes in defaults.items() if name in takes)
    takers = takers or "one of your own"
    return f"{name} is for partition = {takers} and does not apply to '{partition}'."


def repartition(labels: Indices, options: PoolOptions) -> tuple[IndexLists, IndexLists]:
    """Divide a pool by a partition that is not published, then each part into train and test."""
    rng = generator(options.seed, "partition")
    taken = options.taken()
    lists = apply_partition(options.made(), labels, taken["clients"], rng)
    return split(lists, taken["test_share"], rng)


def apply_partition(
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
    odd = indices[(indices < 0) | (indices >= len(labels))]
    if len(odd):
        raise DataError(
            f"The partition {name} gave away example {odd[0]} of {len(labels)}, which are "
            "numbered from 0: correct its indices."
        )
    if len(np.unique(indices)) < len(indices):
        raise DataError(
            f"The partition {name} gave an example to more than one client: give each to one."
        )
    return [each.astype(np.int64, copy=False) for each in lists]
