"""The base class of orders, with everything that guards, faults, privacy and the ledger ask.

They ask an order for its properties and never check its class. A new order is therefore one class,
its simulation (``simulation.simulation``) and its message on a network (``flower.records``).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeAlias, TypeVar

import numpy as np

from flexcfl.protocol.costs import Charge, Cost
from flexcfl.protocol.vectors import Ids

Purpose: TypeAlias = Literal["training", "cold-start", "placement"]
"""Why clients train: for the round itself, to find their group from the common origin, or to follow
a group that was divided in their absence. Each purpose has its own seeds for batches.
"""

# The types of a reply's columns that are not int64.
NUMBERS: Mapping[str, type[Any]] = {"loss": np.float64, "drifted": np.bool_}

ReplyT_co = TypeVar("ReplyT_co", covariant=True)


@dataclass(frozen=True, eq=False)
class Order(ABC, Generic[ReplyT_co]):
    """A request to clients that returns one kind of reply."""

    kind: ClassVar[str]
    """Its name in tables."""
    reply: ClassVar[type[Any]]
    """The type of the reply: a dataclass of columns with one entry for each client that answers."""
    charged: ClassVar[Charge]
    """The purpose under which the ledger books it, if there is only one."""
    trains: ClassVar[bool] = False
    """Whether clients train for it, which takes time and counts as the release of an update."""
    brings_updates: ClassVar[bool] = False
    """Whether the reply is ``Trained``, with updates of the order's ``models``."""
    measures: ClassVar[bool] = False
    """Whether clients measure models without changing their own state. A client that measures
    several models is listed once for each, and answers for all or none. A loss may be infinite.
    """
    computes: ClassVar[bool] = True
    """Whether clients need the network for it."""
    places_again: ClassVar[bool] = False
    """Whether it places clients that already have a group."""
    may_name_none: ClassVar[bool] = False
    """Whether a client that chooses a group may answer that none fits."""

    clients: Ids

    @property
    def purpose(self) -> Purpose | None:
        """Why clients train, or None if they do not."""
        return None

    @property
    def founding(self) -> bool:
        """Whether groups will be founded on the updates."""
        return False

    @property
    def choices(self) -> int | None:
        """The number of groups or models to choose from, or None if clients do not choose."""
        return None

    @property
    def transfers(self) -> int:
        """The number of models and directions sent to clients, as the paper counts them."""
        return 0

    @property
    @abstractmethod
    def down_bytes(self) -> int:
        """The number of bytes sent to clients."""

    def empty(self) -> ReplyT_co:
        """Return the reply if no client answers."""
        names = [each.name for each in fields(self.reply)]
        nobody: ReplyT_co = self.reply(*(np.empty(0, NUMBERS.get(n, np.int64)) for n in names))
        return nobody

    def costs(self, reply: Any, number_bytes: int) -> dict[Charge, Cost]:
        """Return what the order and its reply cost; updates take ``number_bytes`` a number."""
        return {self.charged: Cost(self.transfers, self.down_bytes, reply.up_bytes)}


@dataclass(frozen=True, eq=False)
class TrainingOrder(Order[ReplyT_co]):
    """An order for which clients train on batches that they draw.

    ``repeats[i]`` counts the orders of this round for which the order's client ``i`` has already
    trained with the same purpose. It is None if no client has. The executor sets it, so that a
    client that trains twice in a round draws different batches the second time.
    """

    trains = True

    repeats: Ids | None = field(default=None, kw_only=True)

    @property
    def purpose(self) -> Purpose:
        """Why clients train: to find their group, unless a subclass says otherwise."""
        return "cold-start"

    def draws(self, clients: Ids) -> Iterator[tuple[int, ...]]:
        """Yield the seed keys of these clients of the order, distinct within the round.

        The key is the client's number, followed by its number of repeats if there are any.
        """
        repeats = {}
        if self.repeats is not None:
            repeats = dict(zip(self.clients.tolist(), self.repeats.tolist(), strict=True))
        for client in clients.tolist():
            repeat = repeats.get(client, 0)
            yield (client, repeat) if repeat else (client,)


class Reply(Protocol):
    """The answers of clients to an order."""

    @property
    def clients(self) -> Ids:
        """The clients that answered."""
        ...

    @property
    def up_bytes(self) -> int:
        """The number of bytes received from clients."""
        ...


Exchange: TypeAlias = tuple[Order[Any], Reply]
"""An order and its reply."""
