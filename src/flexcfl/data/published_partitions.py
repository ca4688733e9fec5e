"""The partitions known from the literature: MNIST, FEMNIST and Fashion-MNIST.

Each function returns the training and the test lists of all clients. A client's classes are
consecutive, modulo 10, and begin with the client's number. Draws use NumPy's legacy generator.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from flexcfl.data.client_lists import IndexLists
from flexcfl.data.partition import Indices, by_owner
from flexcfl.errors import DataError, SettingsError

CLASSES = 10
MNIST_CLIENTS = 1000
MNIST_RESERVED = 1000  # images of each class that the proportional shares leave out
FEMNIST_CLIENTS = 200
FEMNIST_CLASSES_PER_CLIENT = 3
FASHION_CLIENTS = 500
FASHION_CLASSES_PER_CLIENT = 5
FASHION_SHARED = 60_000  # training images that the clients' sizes add up to
FASHION_TRAINING_TO_TEST = 6


def split_as_published(
    lists: Sequence[Indices], rng: np.random.RandomState
) -> tuple[IndexLists, IndexLists]:
    """Shuffle each client's examples: ``int(0.9 n)`` are for training, the others for testing.

    The published partitions share this rule and NumPy's legacy generator.
    """
    shuffled = [rng.permutation(indices) for indices in lists]
    train = [indices[: int(0.9 * len(indices))] for indices in shuffled]
    test = [indices[int(0.9 * len(indices)) :] for indices in shuffled]
    return IndexLists.of(train), IndexLists.of(test)


def published_mnist(
    labels: Indices, seed: int, classes_per_client: int
) -> tuple[IndexLists, IndexLists]:
    """Divide labels as published: client ``u`` owns the classes ``u, u + 1, ...`` (modulo 10).

    Each client first gets a few images of each of its classes, then a lognormal share of the rest,
    always in order. 90 % of each client's images, shuffled, are for training. Some images are left
    over.

    References: Li et al., "Federated Optimization in Heterogeneous Networks" (FedProx), MLSys 2020;
    Duan et al., "Flexible Clustered Federated Learning for Client-Level Data Distribution Shift",
    TPDS 2022, whose Table 1 varies the number of classes per client.
    """
    if not 1 <= classes_per_client <= CLASSES:
        raise SettingsError(
            f"classes_per_client must lie between 1 and {CLASSES}, not be {classes_per_client}."
        )
    available = np.bincount(labels, minlength=CLASSES)
    if len(available) > CLASSES or available.min() <= MNIST_RESERVED:
        raise DataError(
            f"The published partition of MNIST needs more than {MNIST_RESERVED} images of each of "
            f"{CLASSES} classes: choose partition = 'iid' or another for this pool."
        )
    rng = np.random.RandomState(seed)
    first = max(1, CLASSES // classes_per_client)
    more = _mnist_shares(available - MNIST_RESERVED, classes_per_client, rng)
    owned = _dealt(by_owner(labels), [np.full_like(more, first), more], wrap=False)
    return split_as_published(owned, rng)


def _mnist_shares(
    available: Indices, classes_per_client: int, rng: np.random.RandomState
) -> Indices:
    """Return how many more images each client (row) has of each class, after the first few."""
    drawn = rng.lognormal(0, 2.0, (CLASSES, MNIST_CLIENTS // CLASSES, classes_per_client))
    shares = drawn / drawn.sum((1, 2), keepdims=True)
    counts = (available[:, None, None] * shares).astype(np.int64)
    client, j = np.indices((MNIST_CLIENTS, classes_per_client))
    return np.asarray(counts[(client + j) % CLASSES, client // CLASSES, j])


def published_femnist(labels: Indices, seed: int) -> tuple[IndexLists, IndexLists]:
    """Draw for client ``u`` as many images of the classes ``u, u + 1, u + 2`` (modulo 10) each.

    The published sizes need more images than there are. The original code therefore gives every
    client the same first images of a class, so that a client's test images are among the training
    images of others. Here each class is divided once into a training and a test pool. Clients draw
    from these without replacement, and from a new permutation when one is used up: images may
    occur several times, but none is ever in both a training and a test set.

    Reference: Li et al., "Federated Optimization in Heterogeneous Networks" (FedProx), MLSys 2020.
    """
    rng = np.random.RandomState(seed)
    each = np.maximum(((rng.lognormal(4, 1, FEMNIST_CLIENTS) + 5) / 3).astype(np.int64), 2)
    train_counts, test_counts = _femnist_counts(each)
    train, test = [], []
    for class_ in range(CLASSES):
        members = rng.permutation(np.flatnonzero(labels == class_))
        learning, testing = train_counts[:, class_], test_counts[:, class_]
        cut = _femnist_test_pool(len(members), int(learning.sum()), int(testing.sum()), class_)
        train.append(_femnist_drawn(members[cut:], learning, rng))
        test.append(_femnist_drawn(members[:cut], testing, rng))
    return _by_client(train), _by_client(test)


def _femnist_counts(each: Indices) -> tuple[Indices, Indices]:
    """Return how many training and test images every client has of every class.

    ``int(0.9 n)`` of a client's images are for training. The others are divided equally over its
    three classes; the first classes get one more if their number is not a multiple of three.
    """
    total = FEMNIST_CLASSES_PER_CLIENT * each
    tested = total - (0.9 * total).astype(np.int64)
    train, test = np.zeros((2, FEMNIST_CLIENTS, CLASSES), dtype=np.int64)
    clients = np.arange(FEMNIST_CLIENTS)
    for j in range(FEMNIST_CLASSES_PER_CLIENT):
        share = (tested + FEMNIST_CLASSES_PER_CLIENT - 1 - j) // FEMNIST_CLASSES_PER_CLIENT
        test[clients, (clients + j) % CLASSES] = share
        train[clients, (clients + j) % CLASSES] = each - share
    return train, test


def _femnist_test_pool(available: int, learning: int, testing: int, class_: int) -> int:
    """Return how many images of a class are for testing: the share of test images in the demand.

    The two pools of a class then last equally long.
    """
    if available < 2:
        raise DataError(
            f"The published partition of FEMNIST needs at least two images of class {class_}, but "
            f"there are {available}: choose partition = 'iid' or another."
        )
    return min(max(round(available * testing / (learning + testing)), 1), available - 1)


def _femnist_drawn(pool: Indices, counts: Indices, rng: np.random.RandomState) -> list[Indices]:
    """Draw ``counts`` images for the clients, from one permutation of the pool after the other."""
    laps = -(-int(counts.sum()) // len(pool))
    order = np.concatenate([rng.permutation(pool) for _ in range(laps)])
    return np.split(order, np.cumsum(counts))[:-1]


def _by_client(by_class: list[list[Indices]]) -> IndexLists:
    return IndexLists.of(np.concatenate(parts) for parts in zip(*by_class, strict=True))


def published_fashion(
    train_labels: Indices, test_labels: Indices, seed: int
) -> tuple[IndexLists, IndexLists]:
    """Divide labels as published: client ``u`` owns the classes ``u, ..., u + 4`` (modulo 10).

    Its images are slices of each class, in order. A slice that would run past the end of a class
    starts again at the first image, so some images belong to two clients and some to none. Test
    indices continue after the training images.

    Reference: Li et al., "Ditto: Fair and Robust Federated Learning Through Personalization", ICML
    2021.
    """
    wanted = _fashion_sizes(np.random.RandomState(seed))
    train = _fashion_slices(train_labels, wanted.astype(np.int64) + 1)
    test = _fashion_slices(test_labels, (wanted / FASHION_TRAINING_TO_TEST).astype(np.int64) + 1)
    return IndexLists.of(train), IndexLists.of(indices + len(train_labels) for indices in test)


def _fashion_sizes(rng: np.random.RandomState) -> NDArray[np.float64]:
    """Draw how many training images each client has of each of its classes, unrounded."""
    sizes = rng.lognormal(3, 1, FASHION_CLIENTS) + 10
    sizes = FASHION_SHARED * sizes / sizes.sum()
    # One row of five after the other: the same numbers as a loop over clients.
    proportions = rng.lognormal(1, 1, (FASHION_CLIENTS, FASHION_CLASSES_PER_CLIENT))
    proportions /= proportions.sum(axis=1, keepdims=True)
    return np.asarray(proportions * sizes[:, None])


def _fashion_slices(labels: Indices, counts: Indices) -> list[Indices]:
    members = [np.flatnonzero(labels == class_) for class_ in range(CLASSES)]
    for (client, j), count in np.ndenumerate(counts):
        class_ = (client + j) % CLASSES
        if count > len(members[class_]):
            raise DataError(
                f"The published partition of Fashion-MNIST needs {count} images of class {class_}, "
                f"but there are {len(members[class_])}: choose partition = 'iid' or another."
            )
    return _dealt(members, [counts], wrap=True)


def _dealt(members: Sequence[Indices], rounds: Sequence[Indices], *, wrap: bool) -> list[Indices]:
    """Give out the images of each class in order; ``rounds`` are counts by client and own class.

    If a class has too few images left, a client gets none, or the first ones again with ``wrap``.
    """
    owned: list[list[Indices]] = [[] for _ in rounds[0]]
    used = [0] * CLASSES
    for counts in rounds:
        for (client, j), count in np.ndenumerate(counts):
            class_ = (client + j) % CLASSES
            start = used[class_]
            if start + count > len(members[class_]):
                if not wrap:
                    continue
                start = 0
            used[class_] = start + count
            owned[client].append(members[class_][start : used[class_]])
    return [np.concatenate(parts) for parts in owned]
