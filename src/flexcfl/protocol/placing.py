"""Orders by which clients find their group, and find it again when their data have changed.

Duan et al.: Flexible Clustered Federated Learning for Client-Level Data Distribution Shift. IEEE
TPDS 2022, Section 3.4. A client is *placed* when it fulfils one of ``Place``, ``Keep``,
``Migrate``, ``Choose`` and ``Settle``, trains the model that it chose itself, or is placed where it
trains: it then remembers what its data are like, and later verdicts are on what has changed since.
"""

from dataclasses import dataclass
from typing import Any

from flexcfl.protocol.costs import Charge, Cost
from flexcfl.protocol.local import Local
from flexcfl.protocol.order import Order, TrainingOrder
from flexcfl.protocol.orders import check_models
from flexcfl.protocol.vectors import (
    FIGURE_BYTES,
    FLAG_BYTES,
    FLOAT32_BYTES,
    Flags,
    Ids,
    Vector,
    Vectors,
)

__all__ = [
    "CheckDrift",
    "Checked",
    "Choose",
    "Chosen",
    "Keep",
    "Kept",
    "Migrate",
    "Place",
    "Placed",
    "Settle",
]


@dataclass(frozen=True, eq=False)
class Placed:
    """The group that each client chose.

    Whose pre-training diverges has no group to name, ``NO_GROUP``; nor has, asked to ``Migrate``,
    who no longer has what it was sent to keep: it is then to be placed as if it were new.
    """

    clients: Ids
    group_of: Ids

    @property
    def up_bytes(self) -> int:
        """One figure from every client that answered."""
        return len(self.clients) * FIGURE_BYTES


@dataclass(frozen=True, eq=False)
class Place(TrainingOrder[Placed]):
    """Ask clients to pre-train from the origin and to choose the group best aligned (Eq. 8).

    They keep the origin and the directions, so that they can do it again by themselves.
    """

    kind, reply = "place", Placed

    origin: Vector
    directions: Vectors
    local: Local

    def __post_init__(self) -> None:
        check_models(self.directions, "any")

    @property
    def down_bytes(self) -> int:
        """The origin and all directions to every client asked."""
        vectors = 1 + len(self.directions)
        return int(len(self.clients) * vectors * len(self.origin) * FLOAT32_BYTES)

    @property
    def choices(self) -> int:
        """The group of each direction."""
        return len(self.directions)

    @property
    def transfers(self) -> int:
        """The directions, and not the origin."""
        return len(self.clients) * len(self.directions)

    def costs(self, reply: Any, number_bytes: int) -> dict[Charge, Cost]:
        """Charge the origin as the cold start's, and the directions by themselves."""
        start = len(self.clients) * self.origin.size * FLOAT32_BYTES
        return {
            "cold-start": Cost(0, start, 0),
            "directions": Cost(self.transfers, self.down_bytes - start, 0),
            "assignment": Cost(0, 0, reply.up_bytes),
        }


@dataclass(frozen=True, eq=False)
class Kept:
    """Who keeps what was sent."""

    clients: Ids

    @property
    def up_bytes(self) -> int:
        """Nothing but that they answered."""
        return 0


@dataclass(frozen=True, eq=False)
class Keep(Order[Kept]):
    """Ask clients to keep the directions of the groups, beside the origin that they have."""

    kind, reply, charged, computes = "keep", Kept, "directions", False

    origin: Vector
    directions: Vectors

    @property
    def down_bytes(self) -> int:
        """All directions to every client asked; the origin came when they pre-trained from it."""
        return int(len(self.clients) * self.directions.size * FLOAT32_BYTES)

    @property
    def transfers(self) -> int:
        """All directions."""
        return len(self.clients) * len(self.directions)


@dataclass(frozen=True, eq=False)
class Migrate(TrainingOrder[Placed]):
    """Ask clients to choose their group anew, from the origin and the directions that they keep.

    ``groups`` is how many there are, so that it is known which answers make sense.
    """

    kind, reply, charged = "migrate", Placed, "assignment"
    places_again, may_name_none = True, True

    local: Local
    groups: int

    @property
    def down_bytes(self) -> int:
        """Nothing: they have what they need."""
        return 0

    @property
    def choices(self) -> int:
        """All groups."""
        return self.groups


@dataclass(frozen=True, eq=False)
class Chosen:
    """Which of the order's models each client chose."""

    clients: Ids
    model_of: Ids

    @property
    def up_bytes(self) -> int:
        """One figure from every client that answered."""
        return len(self.clients) * FIGURE_BYTES


@dataclass(frozen=True, eq=False)
class Choose(Order[Chosen]):
    """Ask clients which model has the lowest loss on their training data (the first of equals).

    A model whose loss is not finite is never chosen. A client that finds only such models names
    none, ``NO_GROUP``, and its answer does not reach the algorithm.
    """

    kind, reply, charged, places_again = "choose", Chosen, "assignment", True

    models: Vectors

    def __post_init__(self) -> None:
        check_models(self.models, "any")

    @property
    def down_bytes(self) -> int:
        """All models to every client asked."""
        return int(len(self.clients) * self.models.size * FLOAT32_BYTES)

    @property
    def choices(self) -> int:
        """All models."""
        return len(self.models)

    @property
    def transfers(self) -> int:
        """All models."""
        return len(self.clients) * len(self.models)


@dataclass(frozen=True, eq=False)
class Settle(Order[Kept]):
    """Tell clients that they were placed by others, for the data that they have now."""

    kind, reply, charged, computes, places_again = "settle", Kept, "drift", False, True

    @property
    def down_bytes(self) -> int:
        """Nothing but the order."""
        return 0


@dataclass(frozen=True, eq=False)
class Checked:
    """Whose data have drifted since it was last placed: a verdict from each, and nothing else."""

    clients: Ids
    drifted: Flags

    @property
    def up_bytes(self) -> int:
        """One flag from every client that answered."""
        return len(self.clients) * FLAG_BYTES


@dataclass(frozen=True, eq=False)
class CheckDrift(Order[Checked]):
    """Ask clients whether their data have drifted since they were last placed.

    A verdict stands until its client is placed again. Who does not know what its data were like
    says that they have drifted: it cannot say that they have not.
    """

    kind, reply, charged, computes = "check-drift", Checked, "drift", False

    @property
    def down_bytes(self) -> int:
        """Nothing but the question."""
        return 0
