"""MNIST over 1,000 clients with two classes each, as FedProx divides it.

References: Li et al., "Federated Optimization in Heterogeneous Networks", MLSys 2020; Duan et al.,
"Flexible Clustered Federated Learning for Client-Level Data Distribution Shift", TPDS 2022, whose
Table 1 varies the number of classes per client.
"""

from pathlib import Path
from typing import ClassVar

import numpy as np
from pydantic.dataclasses import dataclass

from flexcfl.data.client_lists import IndexLists
from flexcfl.data.federation import Federation
from flexcfl.data.images import pixel_statistics, read_train_and_test, standardised
from flexcfl.data.options import FORBID, Defaults, PoolOptions, Seed, own_partitions, repartition
from flexcfl.data.partition import Indices, by_owner, split_as_published
from flexcfl.errors import DataError, SettingsError

__all__ = ["MnistOptions", "load_mnist", "published_mnist"]

CLASSES = 10
CLIENTS = 1000
RESERVED = 1000  # images of a class that the proportions leave out


@dataclass(frozen=True, config=FORBID)
class MnistOptions(PoolOptions):
    """Settings of ``mnist``; its published seed gives the published number of samples."""

    defaults: ClassVar[Defaults] = {
        "published": {"classes_per_client": 2},
        **own_partitions(CLIENTS),
    }

    partition: str = "published"
    seed: Seed = 733


def load_mnist(options: MnistOptions, folder: Path | None = None) -> Federation:
    """Read MNIST's four files and divide the 70,000 images."""
    images, labels = read_train_and_test("mnist", folder, CLASSES)
    y = np.concatenate(labels)
    if options.partition == "published":
        train, test = published_mnist(y, options.seed, **options.taken())
    else:
        train, test = repartition(y, options)
    x = standardised(images, *pixel_statistics(images))
    return Federation("mnist", x, y, train, test, CLASSES)


def published_mnist(
    labels: Indices, seed: int, classes_per_client: int
) -> tuple[IndexLists, IndexLists]:
    """Divide labels as published: client ``u`` owns the classes ``u, u + 1, ...`` (modulo 10).

    A few images of each class first, then shares of the rest in lognormal proportions, images
    always in order; 90 % of each client's images, shuffled, are for training. Some are left over.
    """
    if not 1 <= classes_per_client <= CLASSES:
        raise SettingsError(
            f"classes_per_client must lie between 1 and {CLASSES}, not be {classes_per_client}."
        )
    available = np.bincount(labels, minlength=CLASSES)
    if len(available) > CLASSES or available.min() <= RESERVED:
        raise DataError(
            f"The published partition of MNIST needs more than {RESERVED} images of each of "
            f"{CLASSES} classes: choose partition = 'iid' or another for this pool."
        )
    rng = np.random.RandomState(seed)
    more = _beyond_the_first(available, classes_per_client, rng)
    return split_as_published(_slices(by_owner(labels), more), rng)


def _beyond_the_first(
    available: Indices, classes_per_client: int, rng: np.random.RandomState
) -> Indices:
    """Return, by class, tens of clients and ``j``, how many images follow the first few."""
    drawn = rng.lognormal(0, 2.0, (CLASSES, CLIENTS // CLASSES, classes_per_client))
    shares = drawn / drawn.sum((1, 2), keepdims=True)
    return np.asarray((available - RESERVED)[:, None, None] * shares, dtype=np.int64)


def _slices(members: list[Indices], more: Indices) -> list[Indices]:
    """Cut each class in order: first a few images for all of its owners, then their shares."""
    classes_per_client = more.shape[2]
    turns = [(client, j) for client in range(CLIENTS) for j in range(classes_per_client)]
    first = [max(1, CLASSES // classes_per_client)] * len(turns)
    then = [int(more[(client + j) % CLASSES, client // CLASSES, j]) for client, j in turns]
    owned: list[list[Indices]] = [[] for _ in range(CLIENTS)]
    used = [0] * CLASSES
    for (client, j), count in zip(turns * 2, first + then, strict=True):
        class_ = (client + j) % CLASSES
        end = used[class_] + count
        if end <= len(members[class_]):
            owned[client].append(members[class_][used[class_] : end])
            used[class_] = end
    return [np.concatenate(parts) for parts in owned]
