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
from flexcfl.faults.attack import FORBID, Attackers, Scale
from flexcfl.protocol import Chosen, Migrate, Order, Place, Placed, Train, Trained, Vector

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
        if isinstance(reply, Placed):
            return replace(reply, group_of=np.full_like(reply.group_of, self._claimed(order)))
        if isinstance(reply, Chosen):
            return replace(reply, model_of=np.full_like(reply.model_of, self._claimed(order)))
        if isinstance(order, Train) and isinstance(reply, Trained):
            return self._trained(order, reply, seed)
        return reply

    def _claimed(self, order: Any) -> int:
        """Return the group that is wanted, counted round where there are fewer."""
        if isinstance(order, Migrate):
            return self.group % order.groups
        return self.group % len(order.directions if isinstance(order, Place) else order.models)

    def _trained(self, order: Train, reply: Trained, seed: int) -> Trained:
        if order.purpose == "cold-start":
            return replace(reply, updates=np.repeat(reply.updates[:1], len(reply.clients), axis=0))
        lengths = (self.scale * norms(reply.updates))[:, np.newaxis]
        with np.errstate(over="ignore", invalid="ignore"):  # of updates that are not finite
            pushed = lengths.astype(np.float32) * _direction(seed, reply.updates.shape[1])
        if not isinstance(order.model_of, str):  # a group that is given cannot be claimed
            return replace(reply, updates=pushed)
        return replace(
            reply, updates=pushed, model_of=np.full_like(reply.model_of, self._claimed(order))
        )


@lru_cache(maxsize=1)
def _direction(seed: int, parameters: int) -> Vector:
    """Return the unit vector into which all attackers of a run push, in every round."""
    direction = seeds.generator(seed, "drag").standard_normal(parameters)
    # By NumPy's own sum, which does not depend on BLAS threads.
    return np.asarray(direction / np.sqrt(np.square(direction).sum()), dtype=np.float32)
