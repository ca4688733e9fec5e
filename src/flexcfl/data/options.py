"""The settings that datasets share: a folder of your own data, or a partition with its settings."""

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
    """A dataset of your own in a ``folder``, which must be given; ``content`` is what it holds."""

    content: ClassVar[str] = ""

    folder: Path | None = None

    def __post_init__(self) -> None:
        self.root()

    def root(self) -> Path:
        """Return the folder, or raise an error that says how to give it."""
        if self.folder is None:
            raise ValueError(
                f"folder must be given: name the folder {self.content} with --set data.folder=DIR "
                "(in Python: folder=DIR)."
            )
        return self.folder


class Partition(Protocol):
    """A rule that divides the examples of a pool among clients; its fields are its options.

    Example:
        >>> @dataclasses.dataclass(frozen=True)
        ... class Shards:
        ...     def lists(self, labels, clients, rng):
        ...         return np.array_split(np.argsort(labels), clients)

    """

    def lists(
        self, labels: Indices, clients: int, rng: np.random.Generator
    ) -> Sequence[NDArray[np.integer]]:
        """Return the indices of each client's examples; no example may occur twice.

        Args:
            labels: The label of each example of the pool.
            clients: The number of clients.
            rng: The only source of randomness.

        """
        ...


@dataclasses.dataclass(frozen=True)
class ByClasses:
    """Each client has a few classes, and a share of power-law size of each class."""

    classes_per_client: int
    skew: float

    def lists(self, labels: Indices, clients: int, rng: np.random.Generator) -> list[Indices]:
        """Divide the pool with ``by_classes``."""
        return by_classes(labels, clients, self.classes_per_client, rng, self.skew)


@dataclasses.dataclass(frozen=True)
class Dirichlet:
    """Each class is divided among all clients in proportions from a Dirichlet distribution."""

    concentration: float

    def lists(self, labels: Indices, clients: int, rng: np.random.Generator) -> list[Indices]:
        """Divide the pool with ``dirichlet``."""
        return dirichlet(labels, clients, self.concentration, rng)


@dataclasses.dataclass(frozen=True)
class Iid:
    """The shuffled pool is divided into equal parts."""

    def lists(self, labels: Indices, clients: int, rng: np.random.Generator) -> list[Indices]:
        """Divide the pool with ``iid``."""
        return iid(labels, clients, rng)


@dataclasses.dataclass(frozen=True)
class PartitionEntry:
    """A partition in the registry; the fields of ``partition`` are its options."""

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
    """Return the settings of each built-in partition, with their defaults for one dataset."""
    common = {"clients": clients, "test_share": test_share}
    return {
        "classes": {**common, "classes_per_client": 2, "skew": skew},
        "dirichlet": {**common, "concentration": 0.5},
        "iid": common,
    }


@dataclass(frozen=True, config=FORBID)
class PoolOptions:
    """A partition of a labelled pool, and its settings.

    ``published`` is the partition known from the literature; ``classes``, ``dirichlet`` and ``iid``
    divide the same pool anew, and so does your own, ``package.module:Class``, which takes
    ``options``. The other settings depend on the partition: those that it takes have the defaults
    in ``defaults``, the others are None and must not be given.
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
                f"partition must be {known} or your own as package.module:Class, not "
                f"{short_repr(self.partition)}."
            )
        takes = self.takes(self.partition)
        for name in PARTITION_SETTINGS:
            if getattr(self, name) is None:
                object.__setattr__(self, name, takes.get(name))
            elif name not in takes:
                raise ValueError(_does_not_apply(name, self.partition, self.defaults))
        if self.options is not None:
            self.build_partition()  # refuses unknown options now

    def partition_settings(self) -> dict[str, Any]:
        """Return the settings that the chosen partition takes, apart from the seed."""
        return {name: getattr(self, name) for name in self.takes(self.partition)}

    def build_partition(self) -> Partition:
        """Build the chosen partition, which is not the published one."""
        kind = PARTITIONS[self.partition].partition
        if self.options is not None:
            return validated(kind, self.options, "[data] options")
        return kind(
            **{name: value for name, value in self.partition_settings().items() if name in OPTIONS}
        )

    @classmethod
    def takes(cls, partition: str) -> Mapping[str, Any]:
        """Return the settings of a partition with their defaults; a custom one has ``options``."""
        return cls.defaults.get(partition, {**cls.defaults["iid"], "options": {}})


def _does_not_apply(name: str, partition: str, defaults: Defaults) -> str:
    takers = " or ".join(f"'{other}'" for other, takes in defaults.items() if name in takes)
    takers = takers or "package.module:Class"
    return f"{name} is for partition = {takers} and does not apply to '{partition}'."


def repartition(labels: Indices, options: PoolOptions) -> tuple[IndexLists, IndexLists]:
    """Divide a pool with an unpublished partition, then split each part into train and test."""
    rng = generator(options.seed, "partition")
    chosen = options.partition_settings()
    lists = apply_partition(options.build_partition(), labels, chosen["clients"], rng)
    return split(lists, chosen["test_share"], rng)


def apply_partition(
    partition: Partition, labels: Indices, clients: int, rng: np.random.Generator
) -> list[Indices]:
    """Return the list of each client from a partition, after checking it."""
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
