"""What keeps the orders of one round from drawing the same batches."""

from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from flexcfl.protocol.algorithm import Executor
from flexcfl.protocol.order import Order, Purpose, TrainingOrder
from flexcfl.protocol.vectors import Ids

__all__ = ["DistinctDraws"]

ReplyT = TypeVar("ReplyT")


@dataclass(frozen=True, eq=False)
class DistinctDraws:
    """The executor of one round that tells its clients how often they have trained in it before.

    Only orders for the same purpose count: others draw from seeds of their own anyway. An order
    that says so already, as those do that a server has sent, is passed on as it is.
    """

    executor: Executor
    asked: dict[Purpose, list[Ids]] = field(default_factory=dict)

    def __call__(self, order: Order[ReplyT]) -> ReplyT:
        """Pass an order on; where it is a repetition, with the ``repeats`` of its clients."""
        if isinstance(order, TrainingOrder):  # which alone has ``repeats``
            order = self._counted(order)
        return self.executor(order)

    def _counted(self, order: TrainingOrder[ReplyT]) -> TrainingOrder[ReplyT]:
        before = self.asked.setdefault(order.purpose, [])
        if order.repeats is None and before:
            repeats = np.sum([np.isin(order.clients, clients) for clients in before], axis=0)
            order = replace(order, repeats=repeats) if repeats.any() else order
        before.append(order.clients)
        return order
