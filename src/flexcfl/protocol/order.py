"""What an order is to all who stand between an algorithm and its clients.

They ask an order what it is, and never of which class it is. So a new order is one class, what the
simulation does for it (``simulation.world``), and its message on a network (``flower.records``).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeAlias, TypeVar

import numpy as np

from flexcfl.protocol.costs import Charge, Cost
from flexcfl.protocol.vectors import Ids

__all__ = ["Exchange", "Order", "Purpose", "Reply", "TrainingOrder"]

Purpose: TypeAlias = Literal["training", "cold-start", "placement"]
"""Why clients train: for the round itself, to find their group from the common origin, or to follow
a group that was divided while they were away. Each draws its batches from seeds of its own.
"""

# The numbers of a reply's columns, where they are not whole.
NUMBERS: Mapping[str, type[Any]] = {"loss": np.float64, "drifted": np.bool_}

ReplyT_co = TypeVar("ReplyT_co", covariant=True)


@dataclass(frozen=True, eq=False)
class Order(ABC, Generic[ReplyT_co]):
    """A request to clients that brings back one kind of reply."""

    kind: ClassVar[str]
    """Its name in tables."""
    reply: ClassVar[type[Any]]
    """What comes back: a dataclass of columns, with one entry for every client that answers."""
    charged: ClassVar[Charge]
    """What the ledger charges it as, where that is one thing."""
    trains: ClassVar[bool] = False
    """Whether clients train for it. That takes time, and counts as the release of an update."""
    brings_updates: ClassVar[bool] = False
    """Whether the reply is ``Trained``, with updates of the order's ``models``."""
    measures: ClassVar[bool] = False
    """Whether clients measure models and stay as they are. Who is to measure several is listed once
    for each, and answers for all of them or none. A loss that is not finite is an answer.
    """
    computes: ClassVar[bool] = True
    """Whether clients need the model for it."""
    places_again: ClassVar[bool] = False
    """Whether it places clients that were placed before."""
    may_name_none: ClassVar[bool] = False
    """Whether a client that is to choose a group may answer that it has none."""

    clients: Ids

    @property
    def purpose(self) -> Purpose | None:
        """Why clients train, None where they do not."""
        return None

    @property
    def founding(self) -> bool:
        """Whether groups will be founded on the updates."""
        return False

    @property
    def choices(self) -> int | None:
        """Among how many groups or models clients choose, None where they choose none."""
        return None

    @property
    def transfers(self) -> int:
        """How many models and directions it sends, as the paper counts them."""
        return 0

    @property
    @abstractmethod
    def down_bytes(self) -> int:
        """What it sends to the clients."""

    def empty(self) -> ReplyT_co:
        """Return the reply in which nobody answers."""
        names = [each.name for each in fields(self.reply)]
        nobody: ReplyT_co = self.reply(*(np.empty(0, NUMBERS.get(n, np.int64)) for n in names))
        return nobody

    def costs(self, reply: Any, number_bytes: int) -> dict[Charge, Cost]:
        """Return what it and its reply cost, updates having so many bytes a number."""
        return {self.charged: Cost(self.transfers, self.down_bytes, reply.up_bytes)}


@dataclass(frozen=True, eq=False)
class TrainingOrder(Order[ReplyT_co]):
    """An order for which clients train, on batches that each of them draws.

    ``repeats[i]`` says how many orders of the round client ``i`` of the order has trained for
    before, for the same purpose, and is None where no client has. The executor fills it in, so that
    a client that trains twice in a round draws other batches the second time.
    """

    trains = True

    repeats: Ids | None = field(default=None, kw_only=True)

    @property
    def purpose(self) -> Purpose:
        """Why clients train: to find their group, where the order says nothing else."""
        return "cold-start"

    def draws(self, clients: Ids) -> Iterator[tuple[int, ...]]:
        """Yield what tells the draws of each of these clients from all others of the round.

        They are clients of the order. The first time it is the client alone.
        """
        repeats = {}
        if self.repeats is not None:
            repeats = dict(zip(self.clients.tolist(), self.repeats.tolist(), strict=True))
        for client in clients.tolist():
            repeat = repeats.get(client, 0)
            yield (client, repeat) if repeat else (client,)


class Reply(Protocol):
    """What clients answered to an order."""

    @property
    def clients(self) -> Ids:
        """Who answered."""
        ...

    @property
    def up_bytes(self) -> int:
        """What it brought back from the clients."""
        ...


Exchange: TypeAlias = tuple[Order[Any], Reply]
"""An order and what came back."""
