"""A custom algorithm: each client chooses the best-fitting model once, and keeps it."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator as Rng

from flexcfl.algorithms import AlgorithmEntry, FedAvg
from flexcfl.protocol import NO_GROUP, Choose, Conversation, Flags, Ids, Initial, Serving, ask


@dataclass(frozen=True)
class Options:
    """``groups`` is the number of models to choose from."""

    groups: int = 5


@dataclass(frozen=True)
class FirstChoice(FedAvg):
    groups: int = 5

    def start(self, initial: Initial, present: Flags, rng: Rng) -> Conversation[Serving]:
        yield from ()  # no client has to answer
        models = np.stack([initial(rng) for _ in range(self.groups)])
        return Serving(models, model_of=np.full(len(present), NO_GROUP))

    def round(self, state: Serving, cohort: Ids, present: Flags, rng: Rng) -> Conversation[Serving]:
        chosen = yield from ask(Choose(cohort[state.model_of[cohort] == NO_GROUP], state.models))
        model_of = state.model_of.copy()
        model_of[chosen.clients] = chosen.model_of  # silent clients have no group yet
        placed = cohort[model_of[cohort] != NO_GROUP]
        return (yield from super().round(replace(state, model_of=model_of), placed, present, rng))

    def newcomer(self, state: Serving) -> Serving:
        return replace(state, model_of=np.array([NO_GROUP]))  # "flexcfl place" finds a group


what = "each client chooses the best-fitting model once, and keeps it"
entry = AlgorithmEntry(what, lambda given, local: FirstChoice(local, groups=given.groups), Options)
