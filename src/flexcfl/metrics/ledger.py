"""What communication costs, by purpose: in model transfers, as the paper counts, and in bytes.

Duan et al.: Flexible Clustered Federated Learning for Client-Level Data Distribution Shift. IEEE
TPDS 2022, Section 5.3 and its figure on communication. The paper counts one for every model or
direction that goes to a client or comes back. The common origin that newcomers receive, figures and
verdicts are not counted; groups that share hand on one model each. Models that an algorithm has
evaluated are charged to it as ``query``; ``evaluation`` only measures the method and is no part of
it. Bytes are all that the orders send and bring back.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from flexcfl.protocol import (
    FLOAT32_BYTES,
    CheckDrift,
    Choose,
    Evaluate,
    Exchange,
    Keep,
    Migrate,
    Place,
    Settle,
    Train,
)

__all__ = ["PURPOSES", "Cost", "Ledger", "Purpose"]

Purpose: TypeAlias = Literal[
    "training",
    "cold-start",
    "directions",
    "assignment",
    "query",
    "inter-group",
    "drift",
    "evaluation",
]
PURPOSES: tuple[Purpose, ...] = get_args(Purpose)

# What clients train for, in the words of the ledger.
TRAINING: Mapping[str, Purpose] = {
    "training": "training",
    "cold-start": "cold-start",
    "placement": "assignment",
}


@dataclass(frozen=True)
class Cost:
    """Model transfers as the paper counts them, and bytes down to and up from clients."""

    transfers: int = 0
    down_bytes: int = 0
    up_bytes: int = 0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            self.transfers + other.transfers,
            self.down_bytes + other.down_bytes,
            self.up_bytes + other.up_bytes,
        )


NOTHING = Cost()


@dataclass(frozen=True)
class Ledger:
    """Costs by purpose; what is not listed has cost nothing.

    >>> from flexcfl.protocol import Checked, CheckDrift
    >>> import numpy as np
    >>> asked = np.arange(3)
    >>> Ledger.of((CheckDrift(asked), Checked(asked, asked > 1))).total
    Cost(transfers=0, down_bytes=0, up_bytes=3)
    """

    costs: Mapping[Purpose, Cost] = field(default_factory=dict)

    @classmethod
    def of(
        cls, exchange: Exchange, number_bytes: int = FLOAT32_BYTES, *, measuring: bool = False
    ) -> "Ledger":
        """Return what one order and its reply cost, updates having so many bytes a number.

        Where the run is ``measuring`` the method, the method is not charged.
        """
        costs = _measured(*exchange) if measuring else _costs(*exchange, number_bytes)
        return cls({purpose: cost for purpose, cost in costs.items() if cost != NOTHING})

    @classmethod
    def between_groups(cls, models: int) -> "Ledger":
        """Return what it costs that groups hand this many models to each other."""
        return cls({"inter-group": Cost(transfers=models)} if models else {})

    def __add__(self, other: "Ledger") -> "Ledger":
        costs = dict(self.costs)
        for purpose, cost in other.costs.items():
            costs[purpose] = costs.get(purpose, NOTHING) + cost
        return Ledger(costs)

    @property
    def total(self) -> Cost:
        """What the method itself costs: evaluation, which only measures it, is left out."""
        costs = [cost for purpose, cost in self.costs.items() if purpose != "evaluation"]
        return sum(costs, NOTHING)


def _costs(order: Any, reply: Any, number_bytes: int) -> dict[Purpose, Cost]:
    match order:
        case Train():
            return _training(order, reply, number_bytes)
        case Place(origin=origin, directions=directions):
            # The origin comes along for the cold start, the directions are kept for migrations.
            start = order.clients.size * origin.size * FLOAT32_BYTES
            sent = order.clients.size * len(directions)
            return {
                "cold-start": Cost(0, start, 0),
                "directions": Cost(sent, order.down_bytes - start, 0),
                "assignment": Cost(0, 0, reply.up_bytes),
            }
        case Keep(directions=directions):
            sent = order.clients.size * len(directions)
            return {"directions": Cost(sent, order.down_bytes, reply.up_bytes)}
        case Choose(models=models):
            sent = order.clients.size * len(models)
            return {"assignment": Cost(sent, order.down_bytes, reply.up_bytes)}
        case Migrate():
            return {"assignment": Cost(0, order.down_bytes, reply.up_bytes)}
        case CheckDrift() | Settle():
            return {"drift": Cost(0, order.down_bytes, reply.up_bytes)}
        case Evaluate():
            return {"query": Cost(order.clients.size, order.down_bytes, reply.up_bytes)}
    raise TypeError(f"the ledger does not know what {type(order).__name__} costs")


def _measured(order: Any, reply: Any) -> dict[Purpose, Cost]:
    return {"evaluation": Cost(0, order.down_bytes, reply.up_bytes)}


def _training(order: Train, reply: Any, number_bytes: int) -> dict[Purpose, Cost]:
    """Count a model down and an update up; what else a client may choose from assigns it."""
    asked, size = order.clients.size, order.models.shape[1] * FLOAT32_BYTES
    up = reply.up_bytes - reply.updates.size * (FLOAT32_BYTES - number_bytes)
    own = Cost(asked + reply.clients.size, asked * size, up)
    if not isinstance(order.model_of, str):
        return {TRAINING[order.purpose]: own}
    choice = asked * (len(order.models) - 1)
    return {TRAINING[order.purpose]: own, "assignment": Cost(choice, choice * size, 0)}
