"""All clients in one process: orders fulfilled by the engine on a federation."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from flexcfl import seeds
from flexcfl.clustering import best_aligned
from flexcfl.data.federation import Federation
from flexcfl.protocol import (
    Evaluate,
    Evaluated,
    Executor,
    Ids,
    Keep,
    Kept,
    Local,
    Order,
    Place,
    Placed,
    Purpose,
    Train,
    Trained,
    Vector,
    Vectors,
)

if TYPE_CHECKING:  # an engine is handed in; who only reads this module need not wait for torch
    from flexcfl.engine import Engine

__all__ = ["Simulation"]

ReplyT = TypeVar("ReplyT")


@dataclass(frozen=True, eq=False)
class Keepsake:
    """What a client keeps to find its group again: the common origin and the directions."""

    origin: Vector
    directions: Vectors


@dataclass(frozen=True, eq=False)
class Simulation:
    """A federation whose clients are simulated: ``at(round)`` fulfils the orders of that round.

    What a client draws depends on (seed, purpose, round, client) alone, whoever else was asked
    with it. ``memory`` is what clients keep from one round to the next.
    """

    engine: "Engine"
    federation: Federation
    seed: int
    memory: dict[int, Keepsake] = field(default_factory=dict)

    def at(self, number: int) -> Executor:
        """Return the executor of round ``number``; the start is round 0."""
        fulfil: dict[type[Order[Any]], Callable[[Any], Any]] = {
            Train: lambda order: self._train(order, number),
            Evaluate: self._evaluate,
            Place: lambda order: self._place(order, number),
            Keep: self._keep,
        }

        def executor(order: Order[ReplyT]) -> ReplyT:
            reply: ReplyT = fulfil[type(order)](order)
            return reply

        return executor

    def _train(self, order: Train, number: int) -> Trained:
        models, given = order.models, order.model_of
        model_of = self._fitting(order.clients, models) if isinstance(given, str) else given
        updates, loss = self._updates(
            order.clients, models, model_of, order.local, order.purpose, number
        )
        examples = self.federation.train.sizes[order.clients]
        return Trained(order.clients, updates, examples, loss, model_of)

    def _updates(
        self,
        clients: Ids,
        models: Vectors,
        model_of: Ids,
        local: Local,
        purpose: Purpose,
        number: int,
    ) -> tuple[Vectors, NDArray[np.float64]]:
        examples = [self.federation.train[client] for client in clients]
        rngs = [seeds.generator(self.seed, purpose, number, client) for client in clients]
        return self.engine.train(models, model_of, examples, local, rngs)

    def _fitting(self, clients: Ids, models: Vectors) -> Ids:
        """Return for each client the model with the lowest loss on its training data."""
        groups = np.arange(len(models))
        pairs = Evaluate(
            np.repeat(clients, len(groups)), models, np.tile(groups, len(clients)), "train"
        )
        loss = self._evaluate(pairs).loss.reshape(len(clients), len(groups))
        return np.asarray(np.argmin(loss, axis=1), dtype=np.int64)

    def _evaluate(self, order: Evaluate) -> Evaluated:
        owned = self.federation.train if order.split == "train" else self.federation.test
        examples = [owned[client] for client in order.clients]
        loss, hits = self.engine.evaluate(order.models, order.model_of, examples)
        return Evaluated(order.clients, loss, hits, owned.sizes[order.clients])

    def _place(self, order: Place, number: int) -> Placed:
        origin = np.zeros(len(order.clients), dtype=np.int64)
        updates, _ = self._updates(
            order.clients, order.origin[np.newaxis], origin, order.local, "cold-start", number
        )
        self._remember(order.clients, Keepsake(order.origin, order.directions))
        return Placed(order.clients, *best_aligned(updates, order.directions))

    def _keep(self, order: Keep) -> Kept:
        self._remember(order.clients, Keepsake(order.origin, order.directions))
        return Kept(order.clients)

    def _remember(self, clients: Ids, keepsake: Keepsake) -> None:
        self.memory.update(dict.fromkeys(clients.tolist(), keepsake))
