"""Which client owns which classes of a pool, before any example is dealt out."""

import bisect

import numpy as np
from numpy.typing import NDArray

from flexcfl.errors import SettingsError

__all__ = ["ownership"]


def ownership(sizes: NDArray[np.int64], clients: int, classes_per_client: int) -> NDArray[np.bool_]:
    """Say which client owns which class, each class by at most as many as it has examples."""
    if not 1 <= classes_per_client <= len(sizes):
        raise SettingsError(
            f"classes_per_client must lie between 1 and {len(sizes)}, the number of classes, "
            f"not be {classes_per_client}."
        )
    if clients * classes_per_client < len(sizes):
        raise SettingsError(
            f"{clients} clients with classes_per_client = {classes_per_client} cannot own all "
            f"{len(sizes)} classes: raise one of the two."
        )
    cyclic = np.zeros((clients, len(sizes)), dtype=bool)
    wheel = np.arange(clients)[:, None] + np.arange(classes_per_client)
    np.put_along_axis(cyclic, wheel % len(sizes), values=True, axis=1)
    owners = cyclic.sum(axis=0)
    if (owners >= 1).all() and (owners <= sizes).all():
        return cyclic
    return _levelled_ownership(sizes, clients, classes_per_client)


def _levelled_ownership(
    sizes: NDArray[np.int64], clients: int, classes_per_client: int
) -> NDArray[np.bool_]:
    """Deal classes to clients so that their numbers of owners are as equal as sizes allow.

    Each client in turn takes the classes with the most places left, which always comes out even
    (Gale and Ryser).
    """
    places = _levelled(np.minimum(sizes, clients), clients * classes_per_client)
    each, more = divmod(int(places.sum()), clients)
    owns = np.zeros((clients, len(sizes)), dtype=bool)
    for client in range(clients):
        # The wheel breaks ties, so that neighbouring clients own neighbouring classes here too.
        wheel = (np.arange(len(sizes)) - client) % len(sizes)
        taken = np.lexsort((wheel, -places))[: each + (client < more)]
        owns[client, taken] = True
        places[taken] -= 1
    return owns


def _levelled(limits: NDArray[np.int64], total: int) -> NDArray[np.int64]:
    """Return numbers as equal as their limits allow whose sum is ``total``, or all the limits."""
    total = min(total, int(limits.sum()))

    def reached(level: int) -> int:
        return int(np.minimum(limits, level).sum())

    level = bisect.bisect_right(range(int(limits.max()) + 1), total, key=reached) - 1
    numbers = np.minimum(limits, level)
    numbers[np.flatnonzero(limits > level)[: total - reached(level)]] += 1
    return numbers
