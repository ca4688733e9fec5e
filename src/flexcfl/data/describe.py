"""What a federation looks like from outside: sizes, and which labels its clients have."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flexcfl.data.federation import Federation, IndexLists
from flexcfl.data.made import MadeLists

__all__ = [
    "LEVELS",
    "Description",
    "Picture",
    "Spread",
    "arranged",
    "describe",
    "label_counts",
    "picture",
]

LEVELS = 4


@dataclass(frozen=True)
class Spread:
    """Least, middle, mean and greatest of a figure over all clients."""

    least: float
    median: float
    mean: float
    greatest: float

    @classmethod
    def of(cls, values: NDArray[np.int64] | NDArray[np.float64]) -> "Spread":
        """Summarise one figure per client."""
        median, mean = float(np.median(values)), float(values.mean())
        return cls(values.min().item(), median, mean, values.max().item())


@dataclass(frozen=True, eq=False)
class Description:
    """Figures on a federation.

    ``labels`` counts each client's examples, training and test together, by class, in an array of
    shape (clients, classes). ``pool`` is the number of examples that there are, ``unused`` how many
    of them no client has, ``recurring`` how many are listed more than once. ``structure`` counts
    the clients of each true cluster, and is None where those are unknown.
    """

    clients: int
    shape: tuple[int, ...]
    classes: int
    pool: int
    unused: int
    recurring: int
    train: Spread
    test: Spread
    train_total: int
    test_total: int
    classes_per_client: Spread
    labels: NDArray[np.int64]
    structure: NDArray[np.int64] | None


@dataclass(frozen=True, eq=False)
class Picture:
    """The label skew on a small grid of classes (rows) and clients (columns).

    A level is 0 where the client has nothing of the class, else 1 to ``LEVELS`` for each further
    quarter of its examples.
    """

    clients: NDArray[np.int64]
    classes: NDArray[np.int64]
    levels: NDArray[np.int64]


def describe(federation: Federation) -> Description:
    """Return the figures on a federation."""
    train, test = federation.train, federation.test
    labels = label_counts(train, federation.y, federation.classes)
    labels += label_counts(test, federation.y, federation.classes)
    uses = np.bincount(np.concatenate([train.indices, test.indices]), minlength=len(federation.y))
    return Description(
        clients=federation.clients,
        shape=federation.shape,
        classes=federation.classes,
        pool=len(federation.y),
        unused=int((uses == 0).sum()),
        recurring=int((uses > 1).sum()),
        train=Spread.of(train.sizes),
        test=Spread.of(test.sizes),
        train_total=int(train.sizes.sum()),
        test_total=int(test.sizes.sum()),
        classes_per_client=Spread.of((labels > 0).sum(axis=1)),
        labels=labels,
        structure=_members(federation.structure),
    )


def _members(structure: NDArray[np.int64] | None) -> NDArray[np.int64] | None:
    return None if structure is None else np.unique(structure, return_counts=True)[1]


def label_counts(
    lists: IndexLists | MadeLists, y: NDArray[np.int64], classes: int
) -> NDArray[np.int64]:
    """Count the labels of each client: an array of shape (clients, classes)."""
    client = np.repeat(np.arange(len(lists)), lists.sizes)
    flat = np.bincount(client * classes + y[lists.indices], minlength=len(lists) * classes)
    return flat.reshape(len(lists), classes)


def picture(labels: NDArray[np.int64], columns: int, rows: int) -> Picture:
    """Sample clients and classes from label counts so that they fit into a picture.

    Clients are arranged, and classes are the most frequent ones that anybody has.
    """
    clients = arranged(labels, columns)
    shares = labels / np.maximum(labels.sum(axis=1, keepdims=True), 1)
    counts = labels.sum(axis=0)
    rows = min(rows, int((counts > 0).sum()))
    classes = np.sort(np.argsort(-counts, kind="stable")[:rows])
    levels = np.ceil(shares[np.ix_(clients, classes)].T * LEVELS).astype(np.int64)
    return Picture(clients, classes, levels)


def arranged(labels: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Return so many clients at the most, arranged such that those of one kind stand together.

    They are ordered by their three most frequent classes and sampled evenly in that order.
    """
    shares = labels / np.maximum(labels.sum(axis=1, keepdims=True), 1)
    first_three = np.argsort(-shares, axis=1, kind="stable").T[:3]
    # The last key counts first: the most frequent class; the share of that class decides last.
    order = np.lexsort((-shares.max(axis=1), *first_three[::-1]))
    return order[np.linspace(0, len(order) - 1, min(most, len(order))).round().astype(np.int64)]
