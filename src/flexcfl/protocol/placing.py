"""Orders by which clients find their group, and find it again when their data have changed.

Duan et al.: Flexible Clustered Federated Learning for Client-Level Data Distribution Shift. IEEE
TPDS 2022, Section 3.4. A client is *placed* when it fulfils ``Place``, ``Keep``, ``Migrate``,
``Choose`` or ``Settle``, when it trains the model that it chose, or when a ``Train`` order places
it. It then remembers what its data are like, and later drift checks compare with that memory.
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


@dataclass(frozen=True, eq=False)
class Placed:
    """The group that each client chose.

    A client answers ``NO_GROUP`` if its pre-training diverges. When asked to ``Migrate``, it also
    does so if it has lost the origin or the directions; it must then be placed like a newcomer.
    """

    clients: Ids
    group_of: Ids

    @property
    def up_bytes(self) -> int:
        """One number for each client that answered."""
        return len(self.clients) * FIGURE_BYTES


@dataclass(frozen=True, eq=False)
class Place(TrainingOrder[Placed]):
    """Ask clients to pre-train from the origin and to choose the group best aligned (Eq. 8).

    Clients keep the origin and the directions, so that they can later migrate on their own.
    """

    kind, reply = "place", Placed

    origin: Vector
    directions: Vectors
    local: Local

    def __post_init__(self) -> None:
        check_models(self.directions, "any")

    @property
    def down_bytes(self) -> int:
        """The origin and all directions for each client."""
        vectors = 1 + len(self.directions)
        return int(len(self.clients) * vectors * len(self.origin) * FLOAT32_BYTES)

    @property
    def choices(self) -> int:
        """The group of each direction."""
        return len(self.directions)

    @property
    def transfers(self) -> int:
        """The directions, without the origin."""
        return len(self.clients) * len(self.directions)

    def costs(self, reply: Any, number_bytes: int) -> dict[Charge, Cost]:
        """Book the origin as cold start, and the directions separately."""
        start = len(self.clients) * self.origin.size * FLOAT32_BYTES
        return {
            "cold-start": Cost(0, start, 0),
            "directions": Cost(self.transfers, self.down_bytes - start, 0),
            "assignment": Cost(0, 0, reply.up_bytes),
        }


@dataclass(frozen=True, eq=False)
class Kept:
    """The clients that keep what they received."""

    clients: Ids

    @property
    def up_bytes(self) -> int:
        """No payload."""
        return 0


@dataclass(frozen=True, eq=False)
class Keep(Order[Kept]):
    """Ask clients to keep the directions of the groups, besides the origin that they have."""

    kind, reply, charged, computes = "keep", Kept, "directions", False

    origin: Vector
    directions: Vectors

    @property
    def down_bytes(self) -> int:
        """All directions for each client; they received the origin for pre-training."""
        return int(len(self.clients) * self.directions.size * FLOAT32_BYTES)

    @property
    def transfers(self) -> int:
        """All directions."""
        return len(self.clients) * len(self.directions)


@dataclass(frozen=True, eq=False)
class Migrate(TrainingOrder[Placed]):
    """Ask clients to choose their group again, with the origin and directions that they kept.

    ``groups`` is the number of groups, by which answers are validated.
    """

    kind, reply, charged = "migrate", Placed, "assignment"
    places_again, may_name_none = True, True

    local: Local
    groups: int

    @property
    def down_bytes(self) -> int:
        """No payload: clients have what they need."""
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
        """One number for each client that answered."""
        return len(self.clients) * FIGURE_BYTES


@dataclass(frozen=True, eq=False)
class Choose(Order[Chosen]):
    """Ask clients which model has the lowest loss on their training data (the first of equals).

    A model whose loss is not finite is never chosen. A client that finds only such models answers
    ``NO_GROUP``, and its answer does not reach the algorithm.
    """

    kind, reply, charged, places_again = "choose", Chosen, "assignment", True

    models: Vectors

    def __post_init__(self) -> None:
        check_models(self.models, "any")

    @property
    def down_bytes(self) -> int:
        """All models for each client."""
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
    """Tell clients that the server has placed them for their current data."""

    kind, reply, charged, computes, places_again = "settle", Kept, "drift", False, True

    @property
    def down_bytes(self) -> int:
        """No payload."""
        return 0


@dataclass(frozen=True, eq=False)
class Checked:
    """For each client, whether its data have drifted since it was last placed."""

    clients: Ids
    drifted: Flags

    @property
    def up_bytes(self) -> int:
        """One flag for each client that answered."""
        return len(self.clients) * FLAG_BYTES


@dataclass(frozen=True, eq=False)
class CheckDrift(Order[Checked]):
    """Ask clients whether their data have drifted since they were last placed.

    A verdict stands until the client is placed again. A client without a memory of its earlier
    data answers that they have drifted, because it cannot rule that out.
    """

    kind, reply, charged, computes = "check-drift", Checked, "drift", False

    @property
    def down_bytes(self) -> int:
        """No payload."""
        return 0
