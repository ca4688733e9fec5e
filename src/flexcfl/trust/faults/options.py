"""The settings of faults: clients that vanish, are slow, or send what nobody can use."""

from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as settings

__all__ = ["KINDS", "Faults"]

Probability = Annotated[float, Field(ge=0, le=1)]
KINDS = ("nan", "infinite", "huge", "misshapen", "stale")
"""What a client's fault makes of every update that it sends."""


@settings(frozen=True, config=ConfigDict(extra="forbid"))
class Faults:
    """What goes wrong, drawn from the seed and the same for all algorithms.

    Probabilities are per round and client: with ``dropout`` it is away for the whole round, with
    ``midway`` it does its first training or pre-training of the round, and is gone before the reply
    and for the rest of the round. ``slowness`` is the spread (of the logarithm) of the time that
    training takes, half of its variance being the client's own; answers that take more than
    ``time_budget`` times the median are late and not waited for, none where it is 0. The others are
    shares of the clients, of whom every update has a number that is none (``nan``) or is
    ``infinite``, or is a million times too long (``huge``), of the wrong shape (``misshapen``), or
    that of the last time (``stale``). A share is the nearest number of clients, but at least one.
    """

    dropout: Probability = 0.0
    midway: Probability = 0.0
    slowness: Annotated[float, Field(ge=0, le=10)] = 0.0
    time_budget: Annotated[float, Field(gt=0, le=1e12)] = 3.0
    nan: Probability = 0.0
    infinite: Probability = 0.0
    huge: Probability = 0.0
    misshapen: Probability = 0.0
    stale: Probability = 0.0
