"""IFCA: in each round, a client trains the group model that fits its data best.

Ghosh, Chung, Yin, Ramchandran: An Efficient Framework for Clustered Federated Learning. NeurIPS
2020, Algorithm 1 with model averaging.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from pydantic.dataclasses import dataclass as settings

from flexcfl.aggregation import MEAN, Averaging, Rule, stepped
from flexcfl.algorithms.migration import verdicts
from flexcfl.algorithms.options import FORBID, Groups, WithOptions
from flexcfl.protocol import (
    LOWEST_LOSS,
    NO_GROUP,
    Choose,
    Conversation,
    Flags,
    Ids,
    Initial,
    Local,
    Serving,
    Train,
    Vectors,
    ask,
)


@settings(frozen=True, config=FORBID)
class IfcaOptions:
    """The options of IFCA.

    ``groups`` is the number of models, which IFCA's paper assumes to be known; most of FlexCFL's
    experiments use 5. ``averaging`` inside a group is ``simple`` as in IFCA's paper, or weighted by
    ``examples`` as in FedAvg.
    """

    groups: Groups = 5
    averaging: Averaging = "simple"


@dataclass(frozen=True, eq=False)
class IfcaState:
    """The models, and for each client the model that it chose last and whether it has drifted.

    ``drifted`` flags the clients whose data have changed and that have not chosen again yet.
    """

    models: Vectors
    model_of: Ids
    drifted: Flags


@dataclass(frozen=True, init=False)
class IFCA(WithOptions):
    r"""Clustered training in which clients estimate their own group by its loss.

    A selected client :math:`i` receives all models :math:`w_1, \dots, w_m`, takes the one with
    the lowest mean loss on its own training data, :math:`j_i = \arg\min_j F_i(w_j)`, and trains
    it. Each model then steps by the mean update of the clients that chose it,
    :math:`w_j \leftarrow w_j + \frac{1}{|C_j|} \sum_{i \in C_j} \Delta_i`. A model that no client
    chose does not change. A client uses the model that it chose last, and none before its first
    answer.

    With ``migrates`` it is IFCA-MIG (FlexCFL's paper, Section 5.3): before each round, every client
    whose data have drifted also receives all models and chooses again.
    """

    local: Local
    options: IfcaOptions = field(default_factory=IfcaOptions)
    migrates: bool = False
    rule: Rule = MEAN

    def start(
        self, initial: Initial, present: Flags, rng: np.random.Generator
    ) -> Conversation[IfcaState]:
        """Start with different random models that no client uses yet."""
        yield from ()  # no client is needed
        models = np.stack([initial(rng) for _ in range(self.options.groups)])
        clients = len(present)
        model_of = np.full(clients, NO_GROUP, dtype=np.int64)
        return IfcaState(models, model_of, np.zeros(clients, dtype=np.bool_))

    def round(
        self, state: IfcaState, cohort: Ids, present: Flags, rng: np.random.Generator
    ) -> Conversation[IfcaState]:
        """Let the cohort choose and train, and step each model by its mean update."""
        if self.migrates:
            state = yield from _migrated(state, present)
        trained = yield from ask(Train(cohort, state.models, LOWEST_LOSS, self.local))
        models = stepped(state.models, trained, self.rule, rng, self.options.averaging)
        return _chose(replace(state, models=models), trained.clients, trained.model_of)

    def serving(self, state: IfcaState) -> Serving:
        """Serve each client the model that it chose last."""
        return Serving(state.models, state.model_of)

    def newcomer(self, state: IfcaState) -> IfcaState:
        """Return the state for a federation of one client that has not chosen a model yet."""
        return IfcaState(state.models, np.array([NO_GROUP]), np.array([False]))


def ifca_mig(local: Local, options: IfcaOptions) -> IFCA:
    """Return IFCA-MIG: IFCA whose clients choose again when their data have drifted."""
    return IFCA(local, options, migrates=True)


def _migrated(state: IfcaState, present: Flags) -> Conversation[IfcaState]:
    drifted = yield from verdicts(state.drifted, state.model_of, present)
    state = replace(state, drifted=drifted)
    if not drifted.any():
        return state
    chosen = yield from ask(Choose(np.flatnonzero(drifted), state.models))
    return _chose(state, chosen.clients, chosen.model_of)


def _chose(state: IfcaState, clients: Ids, chosen: Ids) -> IfcaState:
    model_of, drifted = state.model_of.copy(), state.drifted.copy()
    model_of[clients], drifted[clients] = chosen, False
    return replace(state, model_of=model_of, drifted=drifted)
