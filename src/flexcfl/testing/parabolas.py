"""Clients in closed form: each client's loss is a parabola around its own target."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexcfl.clustering import best_aligned
from flexcfl.protocol import (
    NO_GROUP,
    CheckDrift,
    Checked,
    Choose,
    Chosen,
    Evaluate,
    Evaluated,
    Exchange,
    Flags,
    Ids,
    Keep,
    Kept,
    Local,
    Migrate,
    Place,
    Placed,
    Settle,
    Train,
    Trained,
    Vector,
    Vectors,
    lowest_finite,
)

PARAMETERS = 3
KINDS = 3


@dataclass
class Parabolas:
    """Client c minimises |w - target|^2 / 2 and has c + 1 examples; some may stay silent.

    The targets form three clusters; client c belongs to cluster c % 3, its kind. ``silent`` clients
    do not answer; if ``phase`` is given ("training", "cold-start", "placement", or the name of
    another order in lower case), only in that phase. A client whose entry of ``kinds`` is changed
    reports drift until it is placed again; ``known`` is its kind when it was last placed.
    """

    clients: int
    silent: frozenset[int] = frozenset()
    phase: str | None = None
    exchanges: list[Exchange] = field(default_factory=list)
    kinds: Ids = field(init=False)
    known: dict[int, int] = field(default_factory=dict)
    kept: dict[int, tuple[Vector, Vectors]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.kinds = np.arange(self.clients) % KINDS

    @property
    def present(self) -> Flags:
        """All clients have arrived."""
        return np.ones(self.clients, dtype=np.bool_)

    @property
    def targets(self) -> Vectors:
        """The best parameters for each client."""
        places = 10 * np.eye(KINDS, PARAMETERS, dtype=np.float32)
        own = np.arange(self.clients, dtype=np.float32)[:, np.newaxis] / (10 * self.clients)
        return np.asarray(places[self.kinds] + own * [1, -1, 0.5], dtype=np.float32)

    def initial(self, rng: np.random.Generator) -> Vector:
        """Draw an initial model."""
        return rng.normal(size=PARAMETERS).astype(np.float32)

    def __call__(self, order: Any) -> Any:
        """Answer an order, and record both."""
        rows = self._answering(order)
        reply = self._reply(order, rows, order.clients[rows])
        self.exchanges.append((order, reply))
        return reply

    def _reply(self, order: Any, rows: Ids, clients: Ids) -> Any:
        match order:
            case Train():
                return self._train(order, rows)
            case Evaluate():
                return Evaluated(clients, np.zeros(len(clients)), clients * 0, clients + 1)
            case Place():
                self._keep(clients, order)
                return self._placed(clients, order.local)
            case Migrate():
                return self._placed(clients, order.local)
            case Keep():
                self._keep(clients, order)
                return self._settled(clients)
            case Settle():
                return self._settled(clients)
            case Choose():
                return self._choose(order, clients)
            case CheckDrift():
                return self._check(clients)
        raise TypeError(f"There is no answer to {order}.")

    def _answering(self, order: Any) -> Ids:
        clients = order.clients
        assert order.measures or len(set(clients.tolist())) == len(clients)
        assert all(0 <= client < self.clients for client in clients)
        phase = order.purpose if order.brings_updates else type(order).__name__.lower()
        if self.phase not in (None, phase):
            return np.arange(len(clients))
        return np.flatnonzero(~np.isin(clients, list(self.silent)))

    def _losses(self, clients: Ids, models: Vectors) -> NDArray[np.float64]:
        gaps = models[np.newaxis] - self.targets[clients][:, np.newaxis]
        losses: NDArray[np.float64] = (gaps.astype(np.float64) ** 2).sum(axis=2) / 2
        return losses

    def _train(self, order: Train, rows: Ids) -> Trained:
        given = order.model_of
        losses = self._losses(order.clients[rows], order.models)
        model_of = lowest_finite(losses) if isinstance(given, str) else given[rows]
        able = model_of != NO_GROUP
        rows, losses, model_of = rows[able], losses[able], model_of[able]
        clients = order.clients[rows]
        gaps = self.targets[clients] - order.models[model_of]
        updates = (order.local.rate * gaps / (1 + order.local.prox)).astype(np.float32)
        loss = losses[np.arange(len(rows)), model_of]
        if isinstance(given, str) or order.placing:
            self._remember(clients)
        return Trained(clients, updates, clients + 1, loss, model_of)

    def _keep(self, clients: Ids, order: Place | Keep) -> None:
        self.kept |= dict.fromkeys(clients.tolist(), (order.origin, order.directions))

    def _placed(self, clients: Ids, local: Local) -> Placed:
        group_of = np.zeros(len(clients), np.int64)
        kept = [self.kept[client] for client in clients.tolist()]
        for origin, directions in {id(pair[1]): pair for pair in kept}.values():
            own = np.array([pair[1] is directions for pair in kept])
            updates = local.rate * (self.targets[clients[own]] - origin)
            group_of[own] = best_aligned(updates.astype(np.float32), directions)
        self._remember(clients)
        return Placed(clients, group_of)

    def _settled(self, clients: Ids) -> Kept:
        self._remember(clients)
        return Kept(clients)

    def _choose(self, order: Choose, clients: Ids) -> Chosen:
        model_of = lowest_finite(self._losses(clients, order.models))
        able = model_of != NO_GROUP
        self._remember(clients[able])
        return Chosen(clients[able], model_of[able])

    def _check(self, clients: Ids) -> Checked:
        kinds = self.kinds.tolist()
        drifted = [self.known.get(each, kinds[each]) != kinds[each] for each in clients.tolist()]
        return Checked(clients, np.array(drifted, dtype=np.bool_))

    def _remember(self, clients: Ids) -> None:
        self.known |= {client: int(self.kinds[client]) for client in clients.tolist()}
