"""``drag``: attackers get together into one group, and pull its model one way.

An attack on clustered learning itself: a group is small beside the federation, so that a minority
of all clients may be the majority of a group that lets everybody in who says to belong there.
"""

from dataclasses import replace
from functools import lru_cache
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass as settings

from flexcfl import seeds
from flexcfl.aggregation import norms
from flexcfl.protocol import Order, Vector, Vectors
from flexcfl.trust.faults.attack import FORBID, Attackers, Scale

__all__ = ["Drag"]


@settings(frozen=True, config=FORBID)
class Drag(Attackers):
    """Attackers claim to belong to ``group``, and push its model into one common direction.

    They name that group, counted round where there are fewer, whenever they are asked to choose
    one. Asked to found groups, all send the same update, that of the first of them, so as to be
    clustered together.
    When they train, what they send points into a direction that is drawn once, and is ``scale``
    times as long as their own update.
    """

    poisons: ClassVar[bool] = False
    group: Annotated[int, Field(ge=0, le=10**9)] = 0
    scale: Scale = 10.0

    def altered(self, order: Order[Any], reply: Any, number: int, seed: int) -> Any:
        """Claim the group, be alike as founders, and push."""
        changed: dict[str, Any] = {}
        if order.brings_updates and order.purpose == "cold-start":
            alike = np.repeat(reply.updates[:1], len(reply.clients), axis=0)
            return replace(reply, updates=alike)
        if order.brings_updates:
            changed["updates"] = self._pushed(reply.updates, seed)
        if order.choices is not None:  # a group that is given cannot be claimed
            name = "group_of" if hasattr(reply, "group_of") else "model_of"
            changed[name] = np.full_like(getattr(reply, name), self.group % order.choices)
        return replace(reply, **changed) if changed else reply

    def _pushed(self, updates: Vectors, seed: int) -> Vectors:
        lengths = (self.scale * norms(updates))[:, np.newaxis]
        with np.errstate(over="ignore", invalid="ignore"):  # of updates that are not finite
            return np.asarray(lengths.astype(np.float32) * _direction(seed, updates.shape[1]))


@lru_cache(maxsize=1)
def _direction(seed: int, parameters: int) -> Vector:
    """Return the unit vector into which all attackers of a run push, in every round."""
    direction = seeds.generator(seed, "drag").standard_normal(parameters)
    # By NumPy's own sum, which does not depend on BLAS threads.
    return np.asarray(direction / np.sqrt(np.square(direction).sum()), dtype=np.float32)
