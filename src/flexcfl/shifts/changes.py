"""Clients that come to see their data in another way, each by itself."""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from flexcfl.shifts.shift import Moment

__all__ = ["changed"]


Way = TypeVar("Way", bound=np.signedinteger[Any])


def changed(way: NDArray[Way], ways: int, probability: float, moment: Moment) -> NDArray[Way]:
    """Return every client's way, of which ``ways`` exist, after some went to another one.

    Each eligible client changes with ``probability``, to all other ways with the same chance. Where
    nobody does, what is returned is what was given.
    """
    # Drawn for all clients, so that a client's change does not depend on who else is eligible.
    goes = moment.rng.random(moment.clients) < probability
    steps = moment.rng.integers(1, ways, size=moment.clients)
    eligible = np.zeros(moment.clients, dtype=np.bool_)
    eligible[moment.visited] = True
    changes = np.flatnonzero(goes & eligible)
    if not len(changes):
        return way
    after = way.copy()
    after[changes] = (way[changes] + steps[changes]) % ways
    return after
