"""An algorithm with two phases, for tests: it trains twice in a round, and asks for losses."""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.random import Generator as Rng

from flexcfl.aggregation import stepped
from flexcfl.algorithms import AlgorithmEntry, FedAvg
from flexcfl.protocol import (
    LOWEST_LOSS,
    Choose,
    Conversation,
    Evaluate,
    Flags,
    Ids,
    Serving,
    Train,
    ask,
)


@dataclass(frozen=True)
class TwoPhases(FedAvg):
    """FedAvg in two steps a round; ``gaps`` are how far apart updates from one model were."""

    gaps: list[float] = field(default_factory=list)

    def round(self, state: Serving, cohort: Ids, present: Flags, rng: Rng) -> Conversation[Serving]:
        twice = Train(cohort, state.models, cohort * 0, self.local)
        first = yield from ask(twice)
        second = yield from ask(twice)
        self.gaps.append(float(np.abs(first.updates - second.updates).max()))
        models = stepped(state.models, first, self.rule, rng)
        yield from ask(Evaluate(first.clients, models, first.clients * 0, "train"))
        diverged = np.concatenate([np.full_like(models, np.nan), models])
        chosen = yield from ask(Choose(first.clients, diverged))
        lost = yield from ask(Train(cohort, diverged[:1], LOWEST_LOSS, self.local))
        assert not len(lost.clients), "nobody can train a model that has diverged"
        assert chosen.model_of.all(), "nobody can choose a model that has diverged"
        third = yield from ask(replace(twice, models=models))
        return replace(state, models=stepped(models, third, self.rule, rng))


GAPS: list[float] = []
entry = AlgorithmEntry("two phases in a round", lambda options, local: TwoPhases(local, gaps=GAPS))
