"""The settings that labelled pools share: which partition, and what that partition takes."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from flexcfl.data.federation import IndexLists
from flexcfl.data.partition import Indices, by_classes, dirichlet, iid, split
from flexcfl.seeds import generator

__all__ = [
    "FORBID",
    "Count",
    "Defaults",
    "PoolOptions",
    "Seed",
    "Share",
    "own_partitions",
    "repartition",
]

FORBID = ConfigDict(extra="forbid")

Count: TypeAlias = Annotated[int, Field(ge=1, le=10**6)]
Seed: TypeAlias = Annotated[int, Field(ge=0, lt=2**32)]
Concentration: TypeAlias = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Skew: TypeAlias = Annotated[float, Field(ge=0, le=10)]
Share: TypeAlias = Annotated[float, Field(gt=0, lt=1)]
Defaults: TypeAlias = Mapping[str, Mapping[str, float]]

PARTITIONERS: Mapping[str, Callable[..., list[Indices]]] = {
    "classes": by_classes,
    "dirichlet": dirichlet,
    "iid": iid,
}
PARTICULAR = ("clients", "classes_per_client", "concentration", "skew", "test_share")


def own_partitions(clients: int, skew: float = 2.0, test_share: float = 0.1) -> Defaults:
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
    divide the same pool anew. Of the other settings, those that the partition takes have the
    defaults that ``defaults`` gives for it; those that it does not take are None, and giving one
    is refused.
    """

    defaults: ClassVar[Defaults] = {}

    partition: Literal["published", "classes", "dirichlet", "iid"]
    seed: Seed
    clients: Count | None = None
    classes_per_client: Count | None = None
    concentration: Concentration | None = None
    skew: Skew | None = None
    test_share: Share | None = None

    def __post_init__(self) -> None:
        takes = self.defaults[self.partition]
        for name in PARTICULAR:
            if getattr(self, name) is None:
                object.__setattr__(self, name, takes.get(name))
            elif name not in takes:
                raise ValueError(_does_not_apply(name, self.partition, self.defaults))

    def taken(self) -> dict[str, Any]:
        """Return the settings that the chosen partition takes, beside the seed."""
        return {name: getattr(self, name) for name in self.defaults[self.partition]}


def repartition(labels: Indices, options: PoolOptions) -> tuple[IndexLists, IndexLists]:
    """Divide a pool by one of our own partitions, then each client's part into train and test."""
    rng = generator(options.seed, "partition")
    taken = options.taken()
    test_share = taken.pop("test_share")
    return split(PARTITIONERS[options.partition](labels, rng=rng, **taken), test_share, rng)


def _does_not_apply(name: str, partition: str, defaults: Defaults) -> str:
    takers = " or ".join(f"'{other}'" for other, takes in defaults.items() if name in takes)
    return f"{name} is for partition = {takers} and does not apply to '{partition}'."
