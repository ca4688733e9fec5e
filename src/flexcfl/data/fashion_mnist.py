"""Fashion-MNIST over 500 clients with five classes each, as Ditto divides it.

Reference: Li et al., "Ditto: Fair and Robust Federated Learning Through Personalization", ICML
2021. Training and test images stay apart: the pool holds the 60,000 training images, then the test
images, and no partition but our own moves one across.
"""

from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic.dataclasses import dataclass

from flexcfl.data.client_lists import IndexLists
from flexcfl.data.federation import Federation
from flexcfl.data.images import pixel_statistics, read_train_and_test, standardised
from flexcfl.data.options import FORBID, Defaults, PoolOptions, Seed, own_partitions, repartition
from flexcfl.data.partition import Indices
from flexcfl.errors import DataError

__all__ = ["FashionOptions", "load_fashion", "published_fashion"]

CLASSES = 10
CLASSES_PER_CLIENT = 5
CLIENTS = 500
SHARED = 60_000  # training images that the clients' sizes share out
TRAINING_TO_TEST = 6


@dataclass(frozen=True, config=FORBID)
class FashionOptions(PoolOptions):
    """Settings of ``fashion-mnist``; its published seed gives the published number of samples."""

    defaults: ClassVar[Defaults] = {"published": {}, **own_partitions(CLIENTS)}

    partition: str = "published"
    seed: Seed = 233


def load_fashion(options: FashionOptions, folder: Path | None = None) -> Federation:
    """Read Fashion-MNIST's four files and divide the training and the test images."""
    images, labels = read_train_and_test("fashion-mnist", folder, CLASSES)
    y = np.concatenate(labels)
    if options.partition == "published":
        train, test = published_fashion(labels[0], labels[1], options.seed)
    else:
        train, test = repartition(y, options)
    x = standardised(images, *pixel_statistics(images[:1]))
    return Federation("fashion-mnist", x, y, train, test, CLASSES)


def published_fashion(
    train_labels: Indices, test_labels: Indices, seed: int
) -> tuple[IndexLists, IndexLists]:
    """Divide labels as published: client ``u`` owns the classes ``u, ..., u + 4`` (modulo 10).

    Its images are slices of each class, in order; where a slice would run past the class, it
    starts again at the first image, so that some images belong to two clients and some to none.
    Test indices count on from the training images.
    """
    wanted = _wanted(np.random.RandomState(seed))
    train = _slices(train_labels, wanted.astype(np.int64) + 1)
    test = _slices(test_labels, (wanted / TRAINING_TO_TEST).astype(np.int64) + 1)
    return IndexLists.of(train), IndexLists.of(indices + len(train_labels) for indices in test)


def _wanted(rng: np.random.RandomState) -> NDArray[np.float64]:
    """Draw how many training images each client has of each of its classes, unrounded."""
    sizes = rng.lognormal(3, 1, CLIENTS) + 10
    sizes = SHARED * sizes / sizes.sum()
    # One draw of five after the other: the same numbers as a loop over clients.
    proportions = rng.lognormal(1, 1, (CLIENTS, CLASSES_PER_CLIENT))
    proportions /= proportions.sum(axis=1, keepdims=True)
    return np.asarray(proportions * sizes[:, None])


def _slices(labels: Indices, counts: Indices) -> list[Indices]:
    members = [np.flatnonzero(labels == class_) for class_ in range(CLASSES)]
    used = [0] * CLASSES
    owned: list[list[Indices]] = [[] for _ in range(CLIENTS)]
    turns = [(client, j) for client in range(CLIENTS) for j in range(CLASSES_PER_CLIENT)]
    for (client, j), count in zip(turns, counts.ravel().tolist(), strict=True):
        class_ = (client + j) % CLASSES
        if count > len(members[class_]):
            raise DataError(
                f"The published partition of Fashion-MNIST needs {count} images of class {class_}, "
                f"there are {len(members[class_])}: choose partition = 'iid' or another."
            )
        start = used[class_] if used[class_] + count <= len(members[class_]) else 0
        owned[client].append(members[class_][start : start + count])
        used[class_] = start + count
    return [np.concatenate(parts) for parts in owned]
