"""Gives repeated training orders of one round batches of their own."""

from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from flexcfl.protocol.algorithm import Executor
from flexcfl.protocol.order import Order, Purpose, TrainingOrder
from flexcfl.protocol.vectors import Ids

ReplyT = TypeVar("ReplyT")


@dataclass(frozen=True, eq=False)
class DistinctDraws:
    """Wraps the executor of one round and tells clients how often they have trained in it.

    Only orders with the same purpose count, because each purpose has its own seeds. An order that
    already carries ``repeats``, because a server set them, is passed on unchanged.
    """

    executor: Executor
    asked: dict[Purpose, list[Ids]] = field(default_factory=dict)

    def __call__(self, order: Order[ReplyT]) -> ReplyT:
        """Pass an order on, with the ``repeats`` of its clients if it is a repetition."""
        if isinstance(order, TrainingOrder):  # only these have ``repeats``
            order = self._counted(order)
        return self.executor(order)

    def _counted(self, order: TrainingOrder[ReplyT]) -> TrainingOrder[ReplyT]:
        before = self.asked.setdefault(order.purpose, [])
        if order.repeats is None and before:
            repeats = np.sum([np.isin(order.clients, clients) for clients in before], axis=0)
            order = replace(order, repeats=repeats) if repeats.any() else order
        before.append(order.clients)
        return order
