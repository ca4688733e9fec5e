"""Partitions of a labelled pool among clients, as pure functions of a random generator.

Each function returns one array of indices per client. Together, the arrays hold every example of
the pool exactly once. None is empty, for any number of clients up to the number of examples. No
function repeats a draw until it fits: a client that a draw leaves empty is filled once.
"""

import bisect
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexcfl.data.client_lists import IndexLists
from flexcfl.errors import DataError, SettingsError

Indices: TypeAlias = NDArray[np.int64]


def iid(labels: Indices, clients: int, rng: np.random.Generator) -> list[Indices]:
    """Shuffle the pool and divide it into equal parts.

    Args:
        labels: The label of each example; only their number matters.
        clients: The number of clients.
        rng: The random generator.

    Returns:
        The indices of each client's examples.

    Example:
        >>> [len(each) for each in iid(np.zeros(7, int), 3, np.random.default_rng(0))]
        [3, 2, 2]

    """
    _demand_enough(labels, clients)
    owner = np.empty(len(labels), dtype=np.int64)
    owner[rng.permutation(len(labels))] = np.arange(len(labels)) % clients
    return _lists(owner, clients)


def by_owner(owners: NDArray[Any]) -> list[Indices]:
    """Give each example to its owner; clients are the owners in sorted order.

    Example:
        >>> by_owner(["bob", "ann", "bob"])
        [array([1]), array([0, 2])]

    """
    names, owner = np.unique(owners, return_inverse=True)
    return _lists(owner, len(names))


def dirichlet(
    labels: Indices, clients: int, concentration: float, rng: np.random.Generator
) -> list[Indices]:
    """Divide each class among the clients in proportions from a Dirichlet distribution.

    The smaller the concentration, the fewer clients share a class. A client that a draw leaves
    without examples receives one, taken at random from the clients that have several.

    Args:
        labels: The label of each example.
        clients: The number of clients.
        concentration: The parameter of the Dirichlet distribution, above 0.
        rng: The random generator.

    Returns:
        The indices of each client's examples.

    Reference: Yurochkin et al., "Bayesian Nonparametric Federated Learning of Neural Networks",
    ICML 2019.

    """
    _demand_enough(labels, clients)
    if not 0 < concentration < np.inf:
        raise SettingsError(f"concentration must be a positive number, not {concentration}.")
    owner = np.empty(len(labels), dtype=np.int64)
    for members in _classes(labels, rng):
        shares = _dirichlet_shares(concentration, clients, rng)
        owner[members] = np.repeat(np.arange(clients), _parts(len(members), shares))
    return _lists(_without_empty(owner, clients, rng), clients)


def by_classes(
    labels: Indices,
    clients: int,
    classes_per_client: int,
    rng: np.random.Generator,
    skew: float = 2.0,
) -> list[Indices]:
    """Give each client a few classes, and a share of power-law size of each class.

    Client ``u`` owns the classes ``u, u + 1, ...`` (modulo their number) if every owner of a class
    can have an example of it. If a class has too few examples for that, the classes get as equal a
    number of owners as their sizes allow, and some clients own fewer classes, never more.

    Args:
        labels: The label of each example.
        clients: The number of clients.
        classes_per_client: The number of classes of each client.
        rng: The random generator.
        skew: The standard deviation of the logarithm of the shares, which are lognormal.

    Returns:
        The indices of each client's examples.

    Reference: Li et al., "Federated Optimization in Heterogeneous Networks", MLSys 2020.

    """
    _demand_enough(labels, clients)
    owns = _ownership(np.unique(labels, return_counts=True)[1], clients, classes_per_client)
    owner = np.empty(len(labels), dtype=np.int64)
    for class_, members in enumerate(_classes(labels, rng)):
        owners = np.flatnonzero(owns[:, class_])
        shares = _softmax(skew * rng.standard_normal(len(owners)))
        sizes = 1 + _parts(len(members) - len(owners), shares)
        owner[members] = np.repeat(owners, sizes)
    return _lists(owner, clients)


def split(
    lists: Sequence[Indices], test_share: float, rng: np.random.Generator
) -> tuple[IndexLists, IndexLists]:
    """Split each client's examples at random into training and test examples.

    Every client keeps a training example; every client with two or more has a test example.

    Args:
        lists: The indices of each client's examples.
        test_share: The share of each client's examples that is for testing, between 0 and 1.
        rng: The random generator.

    Returns:
        The training lists and the test lists.

    Example:
        >>> train, test = split([np.arange(10), np.arange(10, 15)], 0.2, np.random.default_rng(0))
        >>> train.sizes, test.sizes
        (array([8, 4]), array([2, 1]))

    """
    if not 0 < test_share < 1:
        raise SettingsError(f"test_share must lie between 0 and 1, not {test_share}.")
    train, test = [], []
    for client, indices in enumerate(lists):
        if len(indices) == 0:
            raise DataError(f"Client {client} has no examples to divide: leave the client out.")
        wanted = max(1, round(test_share * len(indices)))
        shuffled = rng.permutation(indices)
        cut = max(1, len(indices) - wanted)
        train.append(shuffled[:cut])
        test.append(shuffled[cut:])
    return IndexLists.of(train), IndexLists.of(test)


def _demand_enough(labels: Indices, clients: int) -> None:
    if not 1 <= clients <= len(labels):
        raise DataError(
            f"{len(labels)} examples are not enough for {clients} clients: "
            f"choose between 1 and {len(labels)} clients."
        )


def _lists(owner: Indices, clients: int) -> list[Indices]:
    order = np.argsort(owner, kind="stable").astype(np.int64)
    return np.split(order, np.cumsum(np.bincount(owner, minlength=clients))[:-1])


def _classes(labels: Indices, rng: np.random.Generator) -> list[Indices]:
    """Return the shuffled indices of the examples of each class that occurs."""
    return [rng.permutation(indices) for indices in by_owner(labels)]


def _parts(total: int, shares: NDArray[np.float64]) -> Indices:
    """Divide a number of examples by the given shares, rounded so that the sum is exact."""
    so_far = np.cumsum(shares)
    ends: Indices = np.rint(so_far / so_far[-1] * total).astype(np.int64)
    return np.diff(ends, prepend=0)


def _softmax(logarithms: NDArray[np.float64]) -> NDArray[np.float64]:
    weights = np.exp(logarithms - logarithms.max())
    return np.asarray(weights / weights.sum())


def _dirichlet_shares(
    concentration: float, clients: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Draw Dirichlet shares from logarithms of gammas, which do not underflow as gammas do."""
    gammas = rng.standard_gamma(concentration + 1, clients)
    with np.errstate(over="ignore"):
        powers = np.log(1 - rng.random(clients)) / concentration
    largest = np.finfo(np.float64).max
    return _softmax(np.clip(np.log(gammas) + powers, -largest, largest))


def _without_empty(owner: Indices, clients: int, rng: np.random.Generator) -> Indices:
    """Give every client without examples one example of a client that has several."""
    empty = np.flatnonzero(np.bincount(owner, minlength=clients) == 0)
    order = rng.permutation(len(owner))
    kept = np.unique(owner[order], return_index=True)[1]
    spare = np.delete(order, kept)
    filled = owner.copy()
    filled[spare[: len(empty)]] = empty
    return filled


def _ownership(
    sizes: NDArray[np.int64], clients: int, classes_per_client: int
) -> NDArray[np.bool_]:
    """Return which client owns which class; a class has no more owners than examples."""
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
    """Assign classes to clients so that their numbers of owners are as equal as sizes allow.

    Each client in turn takes the classes with the most places left, which always works out (Gale
    and Ryser).
    """
    places = _levelled(np.minimum(sizes, clients), clients * classes_per_client)
    each, more = divmod(int(places.sum()), clients)
    owns = np.zeros((clients, len(sizes)), dtype=bool)
    for client in range(clients):
        # The wheel breaks ties, so that neighbouring clients also own neighbouring classes here.
        wheel = (np.arange(len(sizes)) - client) % len(sizes)
        taken = np.lexsort((wheel, -places))[: each + (client < more)]
        owns[client, taken] = True
        places[taken] -= 1
    return owns


def _levelled(limits: NDArray[np.int64], total: int) -> NDArray[np.int64]:
    """Return numbers with the sum ``total`` (or the limits), as equal as their limits allow."""
    total = min(total, int(limits.sum()))

    def reached(level: int) -> int:
        return int(np.minimum(limits, level).sum())

    level = bisect.bisect_right(range(int(limits.max()) + 1), total, key=reached) - 1
    numbers = np.minimum(limits, level)
    numbers[np.flatnonzero(limits > level)[: total - reached(level)]] += 1
    return numbers
