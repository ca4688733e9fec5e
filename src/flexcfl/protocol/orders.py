"""Orders to clients and their replies: frozen values that know what they send and bring back.

Here are what an order is, and the orders to train and to evaluate; those by which clients find
their group, and find it again, are in ``placing``.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Generic, Literal, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from flexcfl.protocol.local import Local
from flexcfl.protocol.vectors import FIGURE_BYTES, FLOAT32_BYTES, Ids, Vectors

__all__ = [
    "LOWEST_LOSS",
    "Evaluate",
    "Evaluated",
    "Exchange",
    "Order",
    "Purpose",
    "Reply",
    "Train",
    "Trained",
    "TrainingOrder",
    "check_models",
]

Purpose: TypeAlias = Literal["training", "cold-start", "placement"]
"""Why clients train: for the round itself, to find their group from the common origin, or to follow
a group that was divided while they were away. Each draws its batches from seeds of its own.
"""
LOWEST_LOSS: Final = "lowest-loss"
"""Asks each client for the model that fits its data best."""

ReplyT_co = TypeVar("ReplyT_co", covariant=True)


def check_models(models: Vectors, model_of: Ids | str) -> None:
    """Find out early that an algorithm's arithmetic has promoted its models or lost a group."""
    if models.dtype != np.float32:
        raise TypeError(f"models travel as float32, not {models.dtype}")
    if not isinstance(model_of, str):
        strange = model_of[(model_of < 0) | (model_of >= len(models))]
        if len(strange):
            raise ValueError(f"there is no model {strange[0]} among {len(models)}")


class Order(ABC, Generic[ReplyT_co]):
    """A request to clients that brings back one kind of reply; ``kind`` is its name in tables."""

    kind: ClassVar[str]

    @property
    @abstractmethod
    def down_bytes(self) -> int:
        """What it sends to the clients."""


@dataclass(frozen=True, eq=False)
class TrainingOrder(Order[ReplyT_co]):
    """An order for which clients train, on batches that each of them draws.

    ``repeats[i]`` says how many orders of the round client ``i`` of the order has trained for
    before, for the same purpose, and is None where no client has. The executor fills it in, so that
    a client that trains twice in a round draws other batches the second time.
    """

    clients: Ids
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
    def up_bytes(self) -> int:
        """What it brought back from the clients."""
        ...


Exchange: TypeAlias = tuple[Order[Any], Reply]
"""An order and what came back."""


@dataclass(frozen=True, eq=False)
class Trained:
    """What came back, in the order asked, without those who stayed silent.

    ``updates`` are the trained minus the received models, ``loss`` is the mean data loss over the
    client's last local epoch, ``examples`` the size of its training set, and ``model_of`` which of
    the order's models each client trained from.
    """

    clients: Ids
    updates: Vectors
    examples: Ids
    loss: NDArray[np.float64]
    model_of: Ids

    @property
    def up_bytes(self) -> int:
        """One update and three figures from every client that answered."""
        return self.updates.size * FLOAT32_BYTES + len(self.clients) * 3 * FIGURE_BYTES


@dataclass(frozen=True, eq=False)
class Train(TrainingOrder[Trained]):
    """Ask clients to train, client ``clients[i]`` from ``models[model_of[i]]``.

    With ``LOWEST_LOSS`` for ``model_of`` every client receives all models and trains from the one
    with the lowest data loss on its training set (the first of equals), which the reply names. A
    model whose loss is not finite is never chosen; a client that finds only such models does not
    train, and its answer does not reach the algorithm.
    ``founding`` says that groups will be founded on the updates, and ``placing`` that clients are
    placed where they train, so that they remember what their data are like.
    """

    kind = "train"

    models: Vectors
    model_of: Ids | Literal["lowest-loss"]
    local: Local
    purpose: Purpose = "training"
    founding: bool = False
    placing: bool = False

    def __post_init__(self) -> None:
        check_models(self.models, self.model_of)

    @property
    def down_bytes(self) -> int:
        """One model to every client asked, or all of them where the client chooses."""
        models = len(self.models) if isinstance(self.model_of, str) else 1
        return int(len(self.clients) * models * self.models.shape[1] * FLOAT32_BYTES)


@dataclass(frozen=True, eq=False)
class Evaluated:
    """Per client: the sum of the data losses, the number of hits and of examples."""

    clients: Ids
    loss: NDArray[np.float64]
    hits: Ids
    examples: Ids

    @property
    def up_bytes(self) -> int:
        """Three figures from every client that answered."""
        return len(self.clients) * 3 * FIGURE_BYTES


@dataclass(frozen=True, eq=False)
class Evaluate(Order[Evaluated]):
    """Ask clients to measure ``models[model_of[i]]`` on their own training or test data.

    Who is to measure several models is listed once for each, and answers for all of them or none.
    """

    kind = "evaluate"

    clients: Ids
    models: Vectors
    model_of: Ids
    split: Literal["train", "test"] = "test"

    def __post_init__(self) -> None:
        check_models(self.models, self.model_of)

    @property
    def down_bytes(self) -> int:
        """One model to every client asked."""
        return int(len(self.clients) * self.models.shape[1] * FLOAT32_BYTES)
