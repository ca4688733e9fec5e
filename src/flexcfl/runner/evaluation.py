"""The models in service, tested by the clients that use them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flexcfl import metrics
from flexcfl.protocol import NO_GROUP, Evaluate, Executor, Flags, Ids, Serving

__all__ = ["NOT_EVALUATED", "Evaluation", "evaluate"]


@dataclass(frozen=True)
class Evaluation:
    """Accuracies on test data; None where there is nothing to test or nobody to test it.

    ``accuracy`` is None until everybody present has a group, ``groups`` has one entry for each
    group, or none where nothing was evaluated.
    """

    accuracy: float | None
    newcomers: float | None
    auxiliary: float | None
    groups: Sequence[float | None]


NOT_EVALUATED = Evaluation(None, None, None, ())


def evaluate(serving: Serving, present: Flags, newcomers: Flags, executor: Executor) -> Evaluation:
    """Let every client that is present and placed test the current model of its current group.

    ``newcomers`` has a flag for every client: whether it arrived after the start.
    """
    tested = np.flatnonzero(present & (serving.model_of != NO_GROUP))
    evaluated = executor(Evaluate(tested, serving.models, serving.model_of[tested]))
    groups = serving.model_of[evaluated.clients]
    return Evaluation(
        accuracy=metrics.accuracy(evaluated) if len(tested) == present.sum() else None,
        newcomers=metrics.accuracy(evaluated, newcomers[evaluated.clients]),
        auxiliary=_auxiliary(serving, np.flatnonzero(present), executor),
        groups=[metrics.accuracy(evaluated, groups == each) for each in range(len(serving.models))],
    )


def _auxiliary(serving: Serving, clients: Ids, executor: Executor) -> float | None:
    if serving.auxiliary is None:
        return None
    model = serving.auxiliary[np.newaxis]
    return metrics.accuracy(executor(Evaluate(clients, model, np.zeros_like(clients))))
