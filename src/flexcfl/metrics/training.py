"""What the training of one round shows: the cohort's loss and its discrepancy."""

from collections.abc import Iterator, Sequence

import numpy as np

from flexcfl.protocol import Exchange, Serving, Train, Trained, Vector

__all__ = ["cohort_loss", "discrepancy"]


def cohort_loss(exchanges: Sequence[Exchange]) -> float | None:
    """Return the mean data loss over the clients' last local epoch, weighted by examples.

    None means that nobody trained.
    """
    trained = [reply for _, reply in exchanges if isinstance(reply, Trained)]
    examples = sum(int(reply.examples.sum()) for reply in trained)
    total = sum(float((reply.loss * reply.examples).sum()) for reply in trained)
    return total / examples if examples else None


def discrepancy(exchanges: Sequence[Exchange], serving: Serving) -> float | None:
    """Return how far the clients' models lie from their groups' (FlexCFL, Equation 3).

    It is the mean over the cohort of the norm of the client's model after local training minus
    its group's model after aggregation, which is the one in ``serving``; None if nobody trained.
    """
    distances = [
        _distance(start, update, serving.models[serving.model_of[client]])
        for order, reply in exchanges
        if isinstance(order, Train) and isinstance(reply, Trained)
        for client, start, update in zip(
            reply.clients, _starts(order, reply), reply.updates, strict=True
        )
    ]
    return float(np.mean(distances)) if distances else None


def _starts(order: Train, reply: Trained) -> Iterator[Vector]:
    # Replies keep the order asked, so the answering clients pick out their models in that order.
    answered = np.isin(order.clients, reply.clients)
    return (order.models[model] for model in order.model_of[answered])


def _distance(start: Vector, update: Vector, group: Vector) -> float:
    # One client at a time, because a float64 copy of the whole cohort could outgrow memory; and
    # NumPy's own sum, because a BLAS norm of many numbers depends on the number of threads.
    difference = start.astype(np.float64)
    difference += update
    difference -= group
    return float(np.sqrt(np.square(difference, out=difference).sum()))
