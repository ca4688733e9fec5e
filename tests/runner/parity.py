"""A tiny algorithm with groups: clients of even and of odd number, placed when first met."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from flexcfl.aggregation import MEAN, group_steps
from flexcfl.protocol import (
    NO_GROUP,
    CheckDrift,
    Checked,
    Clustering,
    Conversation,
    Evaluate,
    Evaluated,
    Executor,
    Flags,
    Ids,
    Initial,
    Kept,
    Local,
    Order,
    Place,
    Placed,
    Serving,
    Settle,
    Train,
    Trained,
    Vector,
    ask,
)

FOUNDERS = 2


@dataclass(frozen=True)
class Parity:
    """The first clients present found two groups; a model steps by the mean of its group."""

    def start(
        self, initial: Initial, present: Flags, rng: np.random.Generator
    ) -> Conversation[Serving]:
        origin = initial(rng)
        founders = np.flatnonzero(present)[:FOUNDERS]
        order = Train(founders, origin[np.newaxis], founders * 0, Local(), purpose="cold-start")
        yield from ask(order)
        group_of = np.full(len(present), NO_GROUP, dtype=np.int64)
        group_of[founders] = founders % 2
        points = np.array([[0.0, 1 / 3], [1.0, 0.5]])
        clustering = Clustering(founders, founders % 2, 2, points, within=0.25, silhouette=None)
        return Serving(np.stack([origin, origin + 10]), group_of, origin, clustering)

    def round(
        self, state: Serving, cohort: Ids, present: Flags, rng: np.random.Generator
    ) -> Conversation[Serving]:
        new = cohort[state.model_of[cohort] == NO_GROUP]
        group_of = state.model_of.copy()
        if len(new):
            placed = yield from ask(Place(new, state.models[0], state.models, Local()))
            group_of[placed.clients] = placed.clients % 2  # whatever they chose
        trained = yield from ask(Train(cohort, state.models, group_of[cohort], Local()))
        alike = np.ones(len(trained.clients))
        models = state.models + group_steps(MEAN, trained.updates, trained.model_of, 2, alike, rng)
        auxiliary = models.mean(axis=0, dtype=np.float64).astype(np.float32)
        return replace(state, models=models, model_of=group_of, auxiliary=auxiliary)

    def serving(self, state: Serving) -> Serving:
        return state


@dataclass
class Ones:
    """Every client adds one to every parameter; client c has c + 1 examples and loss c.

    Of a hundred test examples it hits as many as its model's first number. In every round the data
    of ``moving`` clients change.
    """

    spoilt: tuple[int, int] | None = None  # a round and a client with a NaN loss
    orders: list[tuple[int, Order[Any]]] = field(default_factory=list)
    moving: tuple[int, ...] = ()

    def shifted(self, number: int) -> Ids:
        return np.array(self.moving, dtype=np.int64)

    def at(self, number: int) -> Executor:
        def executor(order: Order[Any]) -> Any:
            self.orders.append((number, order))
            if isinstance(order, Evaluate):
                hits = np.rint(order.models[order.model_of, 0]).astype(np.int64)
                hundred = np.full(len(order.clients), 100)
                return Evaluated(order.clients, np.zeros(len(order.clients)), hits, hundred)
            if isinstance(order, Place):
                return Placed(order.clients, order.clients % 2)
            if isinstance(order, CheckDrift):
                return Checked(order.clients, np.isin(order.clients, self.moving))
            if isinstance(order, Settle):
                return Kept(order.clients)
            assert isinstance(order, Train)
            assert not isinstance(order.model_of, str)
            updates = np.ones((len(order.clients), 2), np.float32)
            loss = order.clients.astype(float)
            if self.spoilt and number == self.spoilt[0]:
                loss[order.clients == self.spoilt[1]] = np.nan
            return Trained(order.clients, updates, order.clients + 1, loss, order.model_of)

        return executor


def zeros(rng: np.random.Generator) -> Vector:
    return np.zeros(2, dtype=np.float32)
