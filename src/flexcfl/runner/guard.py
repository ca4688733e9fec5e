"""Updates that are no longer numbers stop a run, before any model is spoilt by them."""

import numpy as np

from flexcfl.errors import TrainingError
from flexcfl.protocol import Reply, Trained

__all__ = ["check"]


def check(reply: Reply, number: int) -> None:
    """Raise a ``TrainingError`` if a client's loss or update in round ``number`` is not finite."""
    if not isinstance(reply, Trained):
        return
    for client, update, loss in zip(reply.clients, reply.updates, reply.loss, strict=True):
        if not np.isfinite(loss):
            raise TrainingError(_sentence("loss", client, number))
        if not np.isfinite(update).all():
            raise TrainingError(_sentence("update", client, number))


def _sentence(what: str, client: int, number: int) -> str:
    return (
        f"The {what} of client {client} is no longer a finite number in round {number}: "
        "its training diverged, so lower the rate (--rate), local.l2 or local.prox."
    )
