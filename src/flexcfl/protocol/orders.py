"""The orders to train and to evaluate, and their replies: frozen values that know what they send.

What an order is stands in ``order``; those by which clients find their group, and find it again,
are in ``placing``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from flexcfl.protocol.costs import Charge, Cost
from flexcfl.protocol.local import Local
from flexcfl.protocol.order import Order, Purpose, TrainingOrder
from flexcfl.protocol.vectors import FIGURE_BYTES, FLOAT32_BYTES, Ids, Vectors

__all__ = ["LOWEST_LOSS", "Evaluate", "Evaluated", "Train", "Trained", "check_models"]

LOWEST_LOSS: Final = "lowest-loss"
"""Asks each client for the model that fits its data best."""
# What clients train for, in the words of the ledger.
TRAINING: Mapping[Purpose, Charge] = {
    "training": "training",
    "cold-start": "cold-start",
    "placement": "assignment",
}


def check_models(models: Vectors, model_of: Ids | str) -> None:
    """Find out early that an algorithm's arithmetic has promoted its models or lost a group."""
    if models.dtype != np.float32:
        raise TypeError(f"models travel as float32, not {models.dtype}")
    if not isinstance(model_of, str):
        strange = model_of[(model_of < 0) | (model_of >= len(models))]
        if len(strange):
            raise ValueError(f"there is no model {strange[0]} among {len(models)}")


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

    kind, reply, brings_updates = "train", Trained, True

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
        models = 1 if self.choices is None else self.choices
        return int(len(self.clients) * models * self.models.shape[1] * FLOAT32_BYTES)

    @property
    def choices(self) -> int | None:
        """All models, where clients are not told from which to train."""
        return len(self.models) if isinstance(self.model_of, str) else None

    def empty(self) -> Trained:
        """Return no updates, which are as long as the models."""
        return replace(super().empty(), updates=self.models[:0])

    def costs(self, reply: Any, number_bytes: int) -> dict[Charge, Cost]:
        """Count a model down and an update up; what else a client may choose from assigns it."""
        asked, size = len(self.clients), self.models.shape[1] * FLOAT32_BYTES
        up = reply.up_bytes - reply.updates.size * (FLOAT32_BYTES - number_bytes)
        own = Cost(asked + len(reply.clients), asked * size, up)
        if self.choices is None:
            return {TRAINING[self.purpose]: own}
        further = asked * (self.choices - 1)
        return {TRAINING[self.purpose]: own, "assignment": Cost(further, further * size, 0)}


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

    kind, reply, charged, measures = "evaluate", Evaluated, "query", True

    models: Vectors
    model_of: Ids
    split: Literal["train", "test"] = "test"

    def __post_init__(self) -> None:
        check_models(self.models, self.model_of)

    @property
    def down_bytes(self) -> int:
        """One model to every client asked."""
        return int(self.transfers * self.models.shape[1] * FLOAT32_BYTES)

    @property
    def transfers(self) -> int:
        """As many models as are to be measured."""
        return len(self.clients)
