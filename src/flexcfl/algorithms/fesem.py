"""FeSEM: a client joins the group whose model is nearest to its own last local model.

Xie, Long, Shen, Zhou, Wang, Jiang, Zhang: Multi-Center Federated Learning. arXiv 2005.01026, 2020;
as Multi-center federated learning: clients clustering for better personalization, World Wide Web
26, 2023.
"""

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from pydantic.dataclasses import dataclass as settings

from flexcfl.aggregation import MEAN, Averaging, Rule, stepped
from flexcfl.algorithms.migration import settled, verdicts
from flexcfl.algorithms.options import FORBID, Groups, WithOptions
from flexcfl.protocol import (
    FLOAT32_BYTES,
    NO_GROUP,
    Conversation,
    Flags,
    Ids,
    Initial,
    Local,
    Serving,
    Train,
    Trained,
    Vector,
    Vectors,
    ask,
)


@settings(frozen=True, config=FORBID)
class FesemOptions:
    """The options of FeSEM.

    ``groups`` is the number of models; most of FlexCFL's experiments use 5. ``averaging`` inside a
    group is ``simple`` as in FeSEM's paper, or weighted by ``examples`` as in FedAvg. The models
    ``start`` from one ``common`` random model, or each from a ``distinct`` one. Distinct models lie
    further apart than training moves a client, so clients then rarely change their group.
    """

    groups: Groups = 5
    averaging: Averaging = "simple"
    start: Literal["common", "distinct"] = "common"


@dataclass(frozen=True, eq=False)
class FesemState:
    """The groups' models, and for each client its group and its last local model.

    ``local_models[client]`` is None until the client has trained. States of successive rounds share
    the vectors of clients that did not train, so memory holds one float32 vector per client.
    """

    models: Vectors
    group_of: Ids
    local_models: tuple[Vector | None, ...]


@dataclass(frozen=True, init=False)
class FeSEM(WithOptions):
    r"""Clustered training by stochastic expectation maximisation over local models.

    A selected client :math:`i` whose last local model was :math:`v_i` joins the group
    :math:`j_i = \arg\min_j \lVert v_i - w_j \rVert_2`. A client that has never trained joins a
    random group. The client trains from :math:`w_{j_i}`, and its local model becomes
    :math:`v_i = w_{j_i} + \Delta_i`. Each model steps by the mean update of its members,
    :math:`w_j \leftarrow w_j + \frac{1}{|C_j|} \sum_{i \in C_j} \Delta_i`, that is to the mean of
    their local models. A model without members does not change. A client that does not answer
    keeps its group and its local model.

    With ``migrates`` it is FeSEM-MIG (FlexCFL's paper, Section 5.3): before each round, every
    client whose data have drifted also joins the group nearest to its stored local model.
    """

    local: Local
    options: FesemOptions = field(default_factory=FesemOptions)
    migrates: bool = False
    rule: Rule = MEAN

    def start(
        self, initial: Initial, present: Flags, rng: np.random.Generator
    ) -> Conversation[FesemState]:
        """Start with one random model for all groups, or one for each, and no client in a group."""
        yield from ()  # no client is needed
        groups = self.options.groups
        if self.options.start == "common":
            models = np.tile(initial(rng), (groups, 1))
        else:
            models = np.stack([initial(rng) for _ in range(groups)])
        clients = len(present)
        return FesemState(models, np.full(clients, NO_GROUP, dtype=np.int64), (None,) * clients)

    def round(
        self, state: FesemState, cohort: Ids, present: Flags, rng: np.random.Generator
    ) -> Conversation[FesemState]:
        """Assign the cohort to groups, let it train, and step each model by its mean update."""
        if self.migrates:
            state = yield from _migrated(state, present)
        assigned = _assigned(state, cohort, rng)
        order = Train(cohort, state.models, assigned, self.local, placing=self.migrates)
        trained = yield from ask(order)
        models = stepped(state.models, trained, self.rule, rng, self.options.averaging)
        group_of = state.group_of.copy()
        group_of[trained.clients] = trained.model_of
        return FesemState(models, group_of, _local_models(state, trained))

    def serving(self, state: FesemState) -> Serving:
        """Serve each client the model of the group in which it last trained."""
        return Serving(state.models, state.group_of)

    def newcomer(self, state: FesemState) -> FesemState:
        """Return the state for a federation of one client that has never trained."""
        return FesemState(state.models, np.array([NO_GROUP]), (None,))


def fesem_mig(local: Local, options: FesemOptions) -> FeSEM:
    """Return FeSEM-MIG: FeSEM that assigns clients again when their data have drifted."""
    return FeSEM(local, options, migrates=True)


def memory(options: FesemOptions, clients: int, parameters: int) -> int:
    """Return the bytes of all local models once every client has trained.

    >>> memory(FesemOptions(), clients=1000, parameters=7850)
    31400000
    """
    return clients * parameters * FLOAT32_BYTES


def _migrated(state: FesemState, present: Flags) -> Conversation[FesemState]:
    """Assign clients that have drifted to the nearest group; the server does this alone."""
    nobody = np.zeros_like(present)  # verdicts are followed at once, so none is left from before
    due = np.flatnonzero((yield from verdicts(nobody, state.group_of, present)))
    group_of = state.group_of.copy()
    for client in due:
        own = state.local_models[client]
        group_of[client] = group_of[client] if own is None else _nearest(own, state.models)
    yield from settled(due)
    return replace(state, group_of=group_of)


def _assigned(state: FesemState, cohort: Ids, rng: np.random.Generator) -> Ids:
    """Return the group of each client of the cohort."""
    # Drawn for all clients, so that a client's group does not depend on the rest of the cohort.
    group_of = rng.integers(len(state.models), size=len(state.group_of))
    for client in cohort:
        own = state.local_models[client]
        if own is not None:
            group_of[client] = _nearest(own, state.models)
    return group_of[cohort]


def _nearest(own: Vector, models: Vectors) -> int:
    return int(np.argmin([_squared_distance(own, model) for model in models]))


def _squared_distance(one: Vector, other: Vector) -> float:
    # One pair at a time, so that no float64 copy of a cohort of large models is made, and by
    # einsum, because BLAS may round differently with another number of threads.
    gap = np.subtract(one, other, dtype=np.float64)
    return float(np.einsum("i,i->", gap, gap))


def _local_models(state: FesemState, trained: Trained) -> tuple[Vector | None, ...]:
    local_models = list(state.local_models)
    for row, client in enumerate(trained.clients):
        # A separate vector: a row of a larger array would keep the whole array in memory.
        local_models[client] = state.models[trained.model_of[row]] + trained.updates[row]
    return tuple(local_models)
