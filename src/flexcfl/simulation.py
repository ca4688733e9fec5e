"""All clients in one process: orders fulfilled by the engine on a federation."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from flexcfl import seeds
from flexcfl.data.federation import Federation
from flexcfl.protocol import Evaluate, Evaluated, Executor, Ids, Order, Train, Trained

if TYPE_CHECKING:  # an engine is handed in; who only reads this module need not wait for torch
    from flexcfl.engine import Engine

__all__ = ["Simulation"]

ReplyT = TypeVar("ReplyT")


@dataclass(frozen=True, eq=False)
class Simulation:
    """A federation whose clients are simulated: ``at(round)`` fulfils the orders of that round.

    What a client draws depends on (seed, round, client) alone, whoever else was asked with it.
    """

    engine: "Engine"
    federation: Federation
    seed: int

    def at(self, number: int) -> Executor:
        """Return the executor of round ``number``; the start is round 0."""
        fulfil: dict[type[Order[Any]], Callable[[Any], Any]] = {
            Train: lambda order: self._train(order, number),
            Evaluate: self._evaluate,
        }

        def executor(order: Order[ReplyT]) -> ReplyT:
            reply: ReplyT = fulfil[type(order)](order)
            return reply

        return executor

    def _train(self, order: Train, number: int) -> Trained:
        train = self.federation.train
        rngs = [seeds.generator(self.seed, "train", number, client) for client in order.clients]
        examples = [train[client] for client in order.clients]
        updates, loss = self.engine.train(order.models, order.model_of, examples, order.local, rngs)
        return Trained(order.clients, updates, _lengths(examples), loss)

    def _evaluate(self, order: Evaluate) -> Evaluated:
        owned = self.federation.train if order.split == "train" else self.federation.test
        examples = [owned[client] for client in order.clients]
        loss, hits = self.engine.evaluate(order.models, order.model_of, examples)
        return Evaluated(order.clients, loss, hits, _lengths(examples))


def _lengths(lists: list[Ids]) -> Ids:
    return np.array([len(part) for part in lists], dtype=np.int64)
