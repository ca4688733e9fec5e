"""Clients that come to see their data in another way, each by itself."""

import numpy as np

from flexcfl.protocol import Ids
from flexcfl.shifts.shift import Moment

__all__ = ["changed"]


def changed(way: Ids, ways: int, probability: float, moment: Moment) -> Ids:
    """Return every client's way, of which ``ways`` exist, after some went to another one.

    Each eligible client changes with ``probability``, to all other ways with the same chance.
    """
    # Drawn for all clients, so that a client's change does not depend on who else is eligible.
    goes = moment.rng.random(moment.clients) < probability
    steps = moment.rng.integers(1, ways, size=moment.clients)
    eligible = np.zeros(moment.clients, dtype=np.bool_)
    eligible[moment.visited] = True
    return np.where(goes & eligible, (way + steps) % ways, way)
