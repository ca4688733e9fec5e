"""FEMNIST over 200 clients with three of the letters a to j each, as FedProx divides it.

References: Li et al., "Federated Optimization in Heterogeneous Networks", MLSys 2020; Cohen et
al., "EMNIST: Extending MNIST to Handwritten Letters", IJCNN 2017, for the images.

The published sizes ask for more images than there are, and were met there by giving every client
the same first images of a class, its test images among the others' training images. Here each
class is divided once into a training and a test pool. Clients draw from these without replacement
while they last, and from a fresh permutation when one runs out: images may recur, but none
is ever in both a training and a test set.
"""

from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic.dataclasses import dataclass

from flexcfl.data.client_lists import IndexLists
from flexcfl.data.federation import Federation
from flexcfl.data.files import find
from flexcfl.data.images import read_images_and_labels
from flexcfl.data.options import FORBID, Defaults, PoolOptions, Seed, own_partitions, repartition
from flexcfl.data.partition import Indices
from flexcfl.errors import DataError

__all__ = ["FemnistOptions", "load_femnist", "published_femnist"]

CLASSES = 10
CLASSES_PER_CLIENT = 3
CLIENTS = 200
EMNIST_CLASSES = 62  # 0 to 9, A to Z, a to z
FIRST_LETTER = 36  # the label of 'a'


@dataclass(frozen=True, config=FORBID)
class FemnistOptions(PoolOptions):
    """Settings of ``femnist``; its published seed gives the published number of samples."""

    defaults: ClassVar[Defaults] = {"published": {}, **own_partitions(CLIENTS)}

    partition: str = "published"
    seed: Seed = 748


def load_femnist(options: FemnistOptions, folder: Path | None = None) -> Federation:
    """Read EMNIST's ByClass test split and divide its letters a to j."""
    files = find("femnist", folder)
    images, labels = read_images_and_labels(
        files["emnist-byclass-test-images-idx3-ubyte"],
        files["emnist-byclass-test-labels-idx1-ubyte"],
        EMNIST_CLASSES,
    )
    letters = (labels >= FIRST_LETTER) & (labels < FIRST_LETTER + CLASSES)
    y = labels[letters].astype(np.int64) - FIRST_LETTER
    if options.partition == "published":
        train, test = published_femnist(y, options.seed)
    else:
        train, test = repartition(y, options)
    return Federation("femnist", _upright(images[letters]), y, train, test, CLASSES)


def published_femnist(labels: Indices, seed: int) -> tuple[IndexLists, IndexLists]:
    """Draw for client ``u`` as many images of the classes ``u, u + 1, u + 2`` (modulo 10) each."""
    rng = np.random.RandomState(seed)
    each = np.maximum(((rng.lognormal(4, 1, CLIENTS) + 5) / 3).astype(np.int64), 2)
    train_counts, test_counts = _counts(each)
    train, test = [], []
    for class_ in range(CLASSES):
        members = rng.permutation(np.flatnonzero(labels == class_))
        learning, testing = train_counts[:, class_], test_counts[:, class_]
        cut = _test_pool(len(members), int(learning.sum()), int(testing.sum()), class_)
        train.append(_drawn(members[cut:], learning, rng))
        test.append(_drawn(members[:cut], testing, rng))
    return _by_client(train), _by_client(test)


def _counts(each: Indices) -> tuple[Indices, Indices]:
    """Return how many training and test images every client has of every class.

    Of a client's images ``int(0.9 n)`` are for training. The others come from its three classes
    alike, one more from the first ones where three do not divide their number.
    """
    total = CLASSES_PER_CLIENT * each
    tested = total - (0.9 * total).astype(np.int64)
    train, test = np.zeros((2, CLIENTS, CLASSES), dtype=np.int64)
    clients = np.arange(CLIENTS)
    for j in range(CLASSES_PER_CLIENT):
        share = (tested + CLASSES_PER_CLIENT - 1 - j) // CLASSES_PER_CLIENT
        test[clients, (clients + j) % CLASSES] = share
        train[clients, (clients + j) % CLASSES] = each - share
    return train, test


def _test_pool(available: int, learning: int, testing: int, class_: int) -> int:
    """Return how many images of a class are for testing: its share of what clients ask for.

    The two pools of a class then last equally long.
    """
    if available < 2:
        raise DataError(
            f"The published partition of FEMNIST needs at least two images of class {class_}, "
            f"there are {available}: choose partition = 'iid' or another."
        )
    return min(max(round(available * testing / (learning + testing)), 1), available - 1)


def _drawn(pool: Indices, counts: Indices, rng: np.random.RandomState) -> list[Indices]:
    """Draw so many images for each client, one permutation of the pool after the other."""
    laps = -(-int(counts.sum()) // len(pool))
    order = np.concatenate([rng.permutation(pool) for _ in range(laps)])
    return np.split(order, np.cumsum(counts))[:-1]


def _by_client(by_class: list[list[Indices]]) -> IndexLists:
    return IndexLists.of(np.concatenate(parts) for parts in zip(*by_class, strict=True))


def _upright(images: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Undo EMNIST's transposition and scale pixels to between 0 and 1."""
    upright = images.transpose(0, 2, 1)[:, None]
    return np.divide(upright, 255, out=np.empty(upright.shape, np.float32), casting="same_kind")
