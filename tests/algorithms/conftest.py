"""Clients in closed form: each one's loss is a parabola around a target of its own."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from flexcfl.protocol import Evaluate, Evaluated, Exchange, Ids, Order, Train, Trained, Vector


@dataclass
class Parabolas:
    """Client c minimises |w - c|^2 / 2 and has c + 1 examples; some may stay silent."""

    clients: int
    parameters: int = 3
    silent: frozenset[int] = frozenset()
    exchanges: list[Exchange] = field(default_factory=list)

    def initial(self, rng: np.random.Generator) -> Vector:
        return rng.normal(size=self.parameters).astype(np.float32)

    def __call__(self, order: Order[Any]) -> Any:
        reply = self._train(order) if isinstance(order, Train) else self._evaluate(order)
        self.exchanges.append((order, reply))
        return reply

    def _answering(self, clients: Ids) -> Ids:
        self._check(clients)
        return np.flatnonzero(~np.isin(clients, list(self.silent)))

    def _check(self, clients: Ids) -> None:
        assert len(set(clients.tolist())) == len(clients)
        assert all(0 <= client < self.clients for client in clients)

    def _train(self, order: Train) -> Trained:
        rows = self._answering(order.clients)
        clients, start = order.clients[rows], order.models[order.model_of[rows]]
        updates = order.local.rate * (clients[:, np.newaxis] - start) / (1 + order.local.prox)
        loss = ((start - clients[:, np.newaxis]) ** 2).sum(axis=1) / 2
        return Trained(clients, updates.astype(np.float32), clients + 1, loss.astype(np.float64))

    def _evaluate(self, order: Order[Any]) -> Evaluated:
        assert isinstance(order, Evaluate)
        rows = self._answering(order.clients)
        clients = order.clients[rows]
        return Evaluated(clients, np.zeros(len(rows)), clients * 0, clients + 1)


@pytest.fixture
def parabolas() -> Callable[..., Parabolas]:
    return Parabolas
