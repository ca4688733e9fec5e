"""Replies that are no longer numbers stop a run, before any model is spoilt by them."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from flexcfl.errors import TrainingError
from flexcfl.protocol import Ids, Placed, Reply, Trained

__all__ = ["check"]


def check(reply: Reply, number: int) -> None:
    """Raise a ``TrainingError`` if what a client sent in round ``number`` is not finite.

    The start, in which groups are founded, is round 0.
    """
    if isinstance(reply, Trained):
        _check("loss", reply.clients, reply.loss, number)
        _check("update", reply.clients, reply.updates, number)
    if isinstance(reply, Placed):
        _check("cosine", reply.clients, reply.cosine, number)


def _check(what: str, clients: Ids, values: Iterable[ArrayLike], number: int) -> None:
    # One client at a time: flags for all numbers of all updates would take much memory.
    for client, value in zip(clients, values, strict=True):
        if not np.isfinite(value).all():
            raise TrainingError(_sentence(what, client, number))


def _sentence(what: str, client: int, number: int) -> str:
    when = f"in round {number}" if number else "at the start, when groups are founded"
    return (
        f"The {what} of client {client} is no longer a finite number {when}: "
        "its training diverged, so lower the rate (--rate), local.l2 or local.prox."
    )
