"""The models in service, tested by the clients that use them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flexcfl import metrics, seeds
from flexcfl.protocol import NO_GROUP, Evaluate, Executor, Flags, Ids, Serving

__all__ = ["NOT_EVALUATED", "Evaluation", "drawn", "evaluate"]


@dataclass(frozen=True)
class Evaluation:
    """Accuracies on test data; None where there is nothing to test or nobody to test it.

    ``accuracy`` is None until everybody present has a group, unless a sample is tested: then it is
    over those of the sample that have one. ``groups`` has one entry for each group, or none where
    nothing was evaluated. ``tested`` counts the clients that tested the model of their group.
    """

    accuracy: float | None
    newcomers: float | None
    auxiliary: float | None
    groups: Sequence[float | None]
    tested: int


NOT_EVALUATED = Evaluation(None, None, None, (), 0)


def drawn(number: int | None, clients: int, seed: int) -> Ids | None:
    """Return the clients, ascending, that test models in this run; None stands for all."""
    if number is None:
        return None
    return np.sort(seeds.generator(seed, "evaluation").choice(clients, number, replace=False))


def evaluate(
    serving: Serving, present: Flags, arrival: Ids, sample: Ids | None, executor: Executor
) -> Evaluation:
    """Let the clients that are present and placed test the current model of their current group.

    ``arrival`` has for every client the round in which it appeared. With a ``sample`` only clients
    of it are asked.
    """
    there = np.flatnonzero(present) if sample is None else sample[present[sample]]
    tested = there[serving.model_of[there] != NO_GROUP]
    order = _order(serving, tested, there)
    evaluated = executor(order)
    # A client that answers has measured all that it was asked for.
    model_of = order.model_of[np.isin(order.clients, evaluated.clients)]
    placed = model_of < len(serving.models)
    newcomers = placed & (arrival[evaluated.clients] > 0)
    complete = sample is not None or len(tested) == len(there)
    return Evaluation(
        accuracy=metrics.accuracy(evaluated, placed) if complete else None,
        newcomers=metrics.accuracy(evaluated, newcomers),
        auxiliary=metrics.accuracy(evaluated, ~placed),
        groups=[
            metrics.accuracy(evaluated, model_of == each) for each in range(len(serving.models))
        ],
        tested=int(np.count_nonzero(placed)),
    )


def _order(serving: Serving, tested: Ids, there: Ids) -> Evaluate:
    """Ask clients with a group for its model, and all for the auxiliary one where there is one.

    A client measures both in a row, while its data are at hand.
    """
    if serving.auxiliary is None:
        return Evaluate(tested, serving.models, serving.model_of[tested])
    clients = np.concatenate([tested, there])
    auxiliary = np.full(len(there), len(serving.models))
    model_of = np.concatenate([serving.model_of[tested], auxiliary])
    order = np.argsort(clients, kind="stable")
    models = np.concatenate([serving.models, serving.auxiliary[np.newaxis]])
    return Evaluate(clients[order], models, model_of[order])
