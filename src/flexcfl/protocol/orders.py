"""The orders to train and to evaluate, with their replies.

The base class is in ``order``; orders by which clients find their group are in ``placing``.
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

LOWEST_LOSS: Final = "lowest-loss"
"""Asks each client for the model that fits its data best."""
# The ledger's word for each purpose of training.
TRAINING: Mapping[Purpose, Charge] = {
    "training": "training",
    "cold-start": "cold-start",
    "placement": "assignment",
}


def check_models(models: Vectors, model_of: Ids | str) -> None:
    """Raise an error if an algorithm's models are not float32, or if ``model_of`` names none."""
    if models.dtype != np.float32:
        raise TypeError(f"models travel as float32, not {models.dtype}")
    if not isinstance(model_of, str):
        strange = model_of[(model_of < 0) | (model_of >= len(models))]
        if len(strange):
            raise ValueError(f"there is no model {strange[0]} among {len(models)}")


@dataclass(frozen=True, eq=False)
class Trained:
    """The updates of the clients that answered, in the order in which they were asked.

    ``updates`` are the trained models minus the received ones. ``loss`` is the mean data loss over
    the client's last local epoch, ``examples`` is the size of its training set, and ``model_of``
    is the model of the order from which it trained.
    """

    clients: Ids
    updates: Vectors
    examples: Ids
    loss: NDArray[np.float64]
    model_of: Ids

    @property
    def up_bytes(self) -> int:
        """One update and three numbers for each client that answered."""
        return self.updates.size * FLOAT32_BYTES + len(self.clients) * 3 * FIGURE_BYTES


@dataclass(frozen=True, eq=False)
class Train(TrainingOrder[Trained]):
    """Ask clients to train; client ``clients[i]`` starts from ``models[model_of[i]]``.

    If ``model_of`` is ``LOWEST_LOSS``, each client receives all models, trains from the one with
    the lowest data loss on its training set (the first of equals), and names it in the reply. A
    model whose loss is not finite is never chosen. A client that finds only such models does not
    train, and its answer does not reach the algorithm. ``founding`` says that groups will be
    founded on the updates. ``placing`` says that clients join the group for which they train, so
    that they remember the current state of their data for later drift checks.
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
        """One model for each client, or all models if clients choose."""
        models = 1 if self.choices is None else self.choices
        return int(len(self.clients) * models * self.models.shape[1] * FLOAT32_BYTES)

    @property
    def choices(self) -> int | None:
        """All models if clients choose, otherwise None."""
        return len(self.models) if isinstance(self.model_of, str) else None

    def empty(self) -> Trained:
        """Return a reply without updates, whose rows are as long as the models."""
        return replace(super().empty(), updates=self.models[:0])

    def costs(self, reply: Any, number_bytes: int) -> dict[Charge, Cost]:
        """Book one model and one update as training, and further models as assignment."""
        asked, size = len(self.clients), self.models.shape[1] * FLOAT32_BYTES
        up = reply.up_bytes - reply.updates.size * (FLOAT32_BYTES - number_bytes)
        own = Cost(asked + len(reply.clients), asked * size, up)
        if self.choices is None:
            return {TRAINING[self.purpose]: own}
        further = asked * (self.choices - 1)
        return {TRAINING[self.purpose]: own, "assignment": Cost(further, further * size, 0)}


@dataclass(frozen=True, eq=False)
class Evaluated:
    """For each client the sum of data losses, the number of hits and the number of examples."""

    clients: Ids
    loss: NDArray[np.float64]
    hits: Ids
    examples: Ids

    @property
    def up_bytes(self) -> int:
        """Three numbers for each client that answered."""
        return len(self.clients) * 3 * FIGURE_BYTES


@dataclass(frozen=True, eq=False)
class Evaluate(Order[Evaluated]):
    """Ask clients to measure ``models[model_of[i]]`` on their own training or test data.

    A client that measures several models is listed once for each, and answers for all or none.
    """

    kind, reply, charged, measures = "evaluate", Evaluated, "query", True

    models: Vectors
    model_of: Ids
    split: Literal["train", "test"] = "test"

    def __post_init__(self) -> None:
        check_models(self.models, self.model_of)

    @property
    def down_bytes(self) -> int:
        """One model for each entry of ``clients``."""
        return int(self.transfers * self.models.shape[1] * FLOAT32_BYTES)

    @property
    def transfers(self) -> int:
        """The number of models to be measured."""
        return len(self.clients)
