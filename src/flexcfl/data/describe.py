"""Figures of a federation: sizes, the labels of each client, and how far clients are apart.

A distance is how far the mean of a client's examples is from the mean of all examples. Its unit is
what chance alone would give: it is about 1 if clients draw from one pool, like the root of the
F-ratio in an analysis of variance.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flexcfl.data.client_lists import IndexLists, MadeLists
from flexcfl.data.federation import Federation
from flexcfl.seeds import generator

LEVELS = 4
MOST_CLIENTS_COUNTED = 100_000
COUNTS_AT_ONCE = 2**22  # cells of one block of counts, most of which are zero
MOST_CLIENTS_COMPARED = 1000  # a larger federation is sampled
MOST_AXES = 64  # longer examples are projected on this many random directions
EXAMPLES_AT_ONCE = 10_000


@dataclass(frozen=True, eq=False)
class Picture:
    """The label skew on a small grid of classes (rows) and clients (columns).

    A level is 0 if the client has no example of the class, else 1 to ``LEVELS``, one for each
    quarter of its examples.
    """

    clients: NDArray[np.int64]
    classes: NDArray[np.int64]
    levels: NDArray[np.int64]


def unused_and_repeated(federation: Federation) -> tuple[int, int]:
    """Return how many examples of the pool no client has, and how many are listed several times."""
    listed = np.concatenate([federation.train.indices, federation.test.indices])
    uses = np.bincount(listed, minlength=len(federation.y))
    return int((uses == 0).sum()), int((uses > 1).sum())


def label_counts(
    lists: IndexLists | MadeLists, y: NDArray[np.int64], classes: int
) -> NDArray[np.int64]:
    """Count the labels of each client: an array of shape (clients, classes)."""
    client = np.repeat(np.arange(len(lists)), lists.sizes)
    flat = np.bincount(client * classes + y[lists.indices], minlength=len(lists) * classes)
    return flat.reshape(len(lists), classes)


def skew_picture(labels: NDArray[np.int64], columns: int, rows: int) -> Picture:
    """Sample clients and classes from label counts so that they fit into a picture.

    Clients are sorted by their labels. Classes are the most frequent ones.
    """
    clients = sorted_by_labels(labels, columns)
    shares = _shares(labels)
    counts = labels.sum(axis=0)
    rows = min(rows, int((counts > 0).sum()))
    classes = np.sort(np.argsort(-counts, kind="stable")[:rows])
    levels = np.ceil(shares[np.ix_(clients, classes)].T * LEVELS).astype(np.int64)
    return Picture(clients, classes, levels)


def sorted_by_labels(labels: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Return at most ``most`` clients, sorted so that similar clients are neighbours.

    They are sorted by their three most frequent classes, then sampled evenly.
    """
    shares = _shares(labels)
    first_three = np.argsort(-shares, axis=1, kind="stable").T[:3]
    # lexsort sorts by its last key first: the most frequent class. The share of it breaks ties.
    order = np.lexsort((-shares.max(axis=1), *first_three[::-1]))
    return order[np.linspace(0, len(order) - 1, min(most, len(order))).round().astype(np.int64)]


def _shares(labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the share of each class in each client's examples."""
    return np.asarray(labels / np.maximum(labels.sum(axis=1, keepdims=True), 1))


@dataclass(frozen=True, eq=False)
class LabelSkew:
    """How many training and test examples each client has of each label that it has.

    Rows are sorted by client, then by label. Every client has examples, so there are no rows only
    if nothing is known.
    """

    client: NDArray[np.int64]
    label: NDArray[np.int64]
    train: NDArray[np.int64]
    test: NDArray[np.int64]

    @property
    def known(self) -> bool:
        """Whether any counts are known."""
        return len(self.client) > 0

    @property
    def columns(self) -> dict[str, NDArray[np.int64]]:
        """The arrays by their names."""
        return dict(vars(self))


UNKNOWN = LabelSkew(*(np.empty(0, dtype=np.int64) for _ in range(4)))


def label_skew(federation: Federation) -> LabelSkew:
    """Count the labels of every client in all its data, including data that is released later.

    The result is ``UNKNOWN`` for lists that are made on demand, which this does not make, and for
    more than ``MOST_CLIENTS_COUNTED`` clients, which have too many rows to look at.
    """
    made = any(isinstance(lists, MadeLists) for lists in (federation.train, federation.test))
    if made or federation.clients > MOST_CLIENTS_COUNTED:
        return UNKNOWN
    step = max(1, COUNTS_AT_ONCE // federation.classes)
    starts = range(0, federation.clients, step)
    ends = [min(start + step, federation.clients) for start in starts]
    parts = [_counted(federation, np.arange(*each)) for each in zip(starts, ends, strict=True)]
    return LabelSkew(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _counted(
    federation: Federation, clients: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    train, test = (
        label_counts(lists.gathered(clients), federation.y, federation.classes)
        for lists in (federation.train, federation.test)
    )
    row, label = np.nonzero(train + test)
    return clients[row], label, train[row, label], test[row, label]


@dataclass(frozen=True, eq=False)
class Distances:
    """The distance of each sampled client, and of all together; NaN if there is none."""

    each: NDArray[np.float64]
    all: float


def client_distances(federation: Federation) -> tuple[Distances, Distances]:
    """Return the distances of clients' means from the overall mean, and the same within classes.

    If clients differ only in their labels, the first are above 1 and the second are not.
    """
    count = min(federation.clients, MOST_CLIENTS_COMPARED)
    looked_at = np.linspace(0, federation.clients - 1, count).round().astype(np.int64)
    lists = federation.train.gathered(looked_at)
    rows, place = np.unique(lists.indices, return_inverse=True)
    values = _projected(federation.x, rows)[place]
    client = np.repeat(np.arange(count), lists.sizes)
    labels = np.unique(federation.y[lists.indices], return_inverse=True)[1]
    return _apart(values, client, np.zeros_like(labels)), _apart(values, client, labels)


def _projected(x: NDArray[np.float32], rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Project examples on a few random directions, which keeps distance ratios to about 10 %."""
    width = int(np.prod(x.shape[1:]))
    axes = generator(0, "distances").standard_normal((width, MOST_AXES), dtype=np.float32)
    blocks = (
        rows[start : start + EXAMPLES_AT_ONCE] for start in range(0, len(rows), EXAMPLES_AT_ONCE)
    )
    flat = (x[block].reshape(len(block), width) for block in blocks)
    parts = [each if width <= MOST_AXES else each @ axes for each in flat]
    return np.concatenate(parts).astype(np.float64)


def _apart(
    values: NDArray[np.float64], client: NDArray[np.int64], kind: NDArray[np.int64]
) -> Distances:
    """Compare the mean of each cell (one client's examples of one kind) with that of its kind."""
    kinds = int(kind.max()) + 1
    cells, cell, sizes = np.unique(client * kinds + kind, return_inverse=True, return_counts=True)
    owner, kind_of = np.divmod(cells, kinds)
    means, totals = _means(values, cell), np.bincount(kind)
    within = np.square(values - means[cell]).sum() / max(len(values) - len(cells), 1)
    found = sizes * np.square(means - _means(values, kind)[kind_of]).sum(axis=1)
    # A client that has all examples of a kind is its centre, and tells nothing.
    expected = within * (1 - sizes / totals[kind_of])
    each, chance = (np.bincount(owner, part).astype(np.float64) for part in (found, expected))
    known = chance > 0
    ratios = np.divide(each, chance, out=np.full_like(each, np.nan), where=known)
    whole = np.sqrt(each[known].sum() / chance.sum()) if known.any() else np.nan
    return Distances(np.sqrt(ratios), float(whole))


def _means(values: NDArray[np.float64], group: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the mean of each group of rows; no group is empty."""
    sums = np.stack([np.bincount(group, column) for column in values.T], axis=1)
    means: NDArray[np.float64] = sums / np.bincount(group)[:, None]
    return means
