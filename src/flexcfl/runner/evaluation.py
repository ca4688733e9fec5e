"""The models in service, tested by the clients that use them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from flexcfl import seeds
from flexcfl.protocol import NO_GROUP, Evaluate, Executor, Flags, Ids, Serving
from flexcfl.record import metrics
from flexcfl.record.tables import Evaluation

__all__ = ["NOT_EVALUATED", "Asked", "drawn", "evaluate"]


NOT_EVALUATED = Evaluation(None, None, None, None, (), 0)


def drawn(number: int | None, clients: int, seed: int) -> Ids | None:
    """Return the clients, ascending, that test models in this run; None stands for all."""
    if number is None:
        return None
    return np.sort(seeds.generator(seed, "evaluation").choice(clients, number, replace=False))


@dataclass(frozen=True, eq=False)
class Asked:
    """Who tests models: those ``present``, or those of a ``sample`` that are.

    ``arrival`` has for every client the round in which it appeared, ``honest`` whether it means
    well where not all do. ``toured()`` says whether everybody has been chosen once.
    """

    present: Flags
    arrival: Ids
    sample: Ids | None = None
    toured: Callable[[], bool] = lambda: False
    honest: Flags | None = None


def evaluate(serving: Serving, asked: Asked, executor: Executor) -> Evaluation:
    """Let the clients that are present and placed test the current model of their current group."""
    present, sample = asked.present, asked.sample
    there = np.flatnonzero(present) if sample is None else sample[present[sample]]
    tested = there[serving.model_of[there] != NO_GROUP]
    order = _order(serving, tested, there)
    evaluated = executor(order)
    # A client that answers has measured all that it was asked for.
    model_of = order.model_of[np.isin(order.clients, evaluated.clients)]
    placed = model_of < len(serving.models)
    newcomers = placed & (asked.arrival[evaluated.clients] > 0)
    complete = sample is not None or len(tested) == len(there) or asked.toured()
    counted = placed if complete else np.zeros_like(placed)
    honest = None if asked.honest is None else counted & asked.honest[evaluated.clients]
    return Evaluation(
        accuracy=metrics.accuracy(evaluated, counted),
        honest=None if honest is None else metrics.accuracy(evaluated, honest),
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
