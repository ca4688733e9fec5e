"""IFCA: every client trains, in each round anew, the group model that fits its data best.

Ghosh, Chung, Yin, Ramchandran: An Efficient Framework for Clustered Federated Learning. NeurIPS
2020, Algorithm 1 with model averaging.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from pydantic.dataclasses import dataclass as settings

from flexcfl.aggregation import Averaging, group_means, weights
from flexcfl.algorithms.options import FORBID, Groups
from flexcfl.protocol import (
    LOWEST_LOSS,
    NO_GROUP,
    Conversation,
    Flags,
    Ids,
    Initial,
    Local,
    Serving,
    Train,
    ask,
)

__all__ = ["IFCA", "IfcaOptions"]


@settings(frozen=True, config=FORBID)
class IfcaOptions:
    """The options of IFCA.

    ``groups`` is the number of models, which IFCA's paper takes as known; 5 is the number in most
    of FlexCFL's experiments. ``averaging`` inside a group is ``simple`` as in IFCA's paper, or
    weighted by ``examples`` as in FedAvg.
    """

    groups: Groups = 5
    averaging: Averaging = "simple"


@dataclass(frozen=True)
class IFCA:
    r"""Clustered training in which clients estimate their own group by its loss.

    A selected client :math:`i` receives all models :math:`w_1, \dots, w_m`, takes the one with
    the lowest mean loss on its own training data, :math:`j_i = \arg\min_j F_i(w_j)`, and trains
    it. Each model then steps by the mean update of those who chose it,
    :math:`w_j \leftarrow w_j + \frac{1}{|C_j|} \sum_{i \in C_j} \Delta_i`; one that nobody chose
    stays as it is. A client uses the model that it chose last, and none before it first answered.

    The models in service and who uses which are all there is to know between rounds.
    """

    local: Local
    options: IfcaOptions = field(default_factory=IfcaOptions)

    def start(
        self, initial: Initial, present: Flags, rng: np.random.Generator
    ) -> Conversation[Serving]:
        """Begin with different random models, used by nobody yet."""
        yield from ()  # nobody need be asked
        models = np.stack([initial(rng) for _ in range(self.options.groups)])
        return Serving(models, model_of=np.full(len(present), NO_GROUP, dtype=np.int64))

    def round(
        self, state: Serving, cohort: Ids, present: Flags, rng: np.random.Generator
    ) -> Conversation[Serving]:
        """Let the cohort choose and train, and step each model by the mean of its updates."""
        trained = yield from ask(Train(cohort, state.models, LOWEST_LOSS, self.local))
        counts = weights(self.options.averaging, trained.examples)
        step = group_means(trained.updates, trained.model_of, len(state.models), counts)
        model_of = state.model_of.copy()
        model_of[trained.clients] = trained.model_of
        return replace(state, models=state.models + step, model_of=model_of)

    def serving(self, state: Serving) -> Serving:
        """Serve each client the model that it chose last."""
        return state
