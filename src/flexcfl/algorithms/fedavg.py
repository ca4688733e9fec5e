"""FedAvg: one model for all clients, stepped by the mean update of the cohort.

McMahan, Moore, Ramage, Hampson, Agüera y Arcas: Communication-Efficient Learning of Deep Networks
from Decentralized Data. AISTATS 2017, Algorithm 1.
"""

from dataclasses import dataclass, replace

import numpy as np

from flexcfl.aggregation import MEAN, Rule, stepped
from flexcfl.protocol import Conversation, Flags, Ids, Initial, Local, Serving, Train, ask


@dataclass(frozen=True)
class FedAvg:
    r"""Federated averaging: :math:`w \leftarrow w + \sum_k \frac{n_k}{n} \Delta_k`.

    :math:`\Delta_k` is the update of client :math:`k` of the cohort after its ``local`` training,
    :math:`n_k` is the number of its training examples and :math:`n` is their sum. Clients that do
    not answer are left out; if none answers, the model does not change. ``rule`` replaces the mean
    by another aggregation of the :math:`\Delta_k`.

    The model in service is all that is known between rounds, so it is the state.
    """

    local: Local
    rule: Rule = MEAN

    def start(
        self, initial: Initial, present: Flags, rng: np.random.Generator
    ) -> Conversation[Serving]:
        """Start with one random model for all clients."""
        yield from ()  # no client is needed
        return Serving(initial(rng)[np.newaxis], model_of=np.zeros(len(present), dtype=np.int64))

    def round(
        self, state: Serving, cohort: Ids, present: Flags, rng: np.random.Generator
    ) -> Conversation[Serving]:
        """Let the cohort train, and step by the mean of its updates."""
        order = Train(cohort, state.models, state.model_of[cohort], self.local)
        trained = yield from ask(order)
        return replace(state, models=stepped(state.models, trained, self.rule, rng))

    def serving(self, state: Serving) -> Serving:
        """Serve the one model to everybody."""
        return state

    def newcomer(self, state: Serving) -> Serving:
        """Return the state as one client alone finds it."""
        return replace(state, model_of=np.array([0]))
