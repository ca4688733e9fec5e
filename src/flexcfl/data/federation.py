"""A federation: one pool of arrays and, for every client, the indices of its own examples."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flexcfl.data.lists import IndexLists
from flexcfl.data.made import MadeLists
from flexcfl.errors import DataError

__all__ = ["Federation", "IndexLists"]


@dataclass(frozen=True, eq=False)
class Federation:
    """Clients and their data: a pool ``x``, ``y``, and whose is what in ``train`` and ``test``.

    ``x`` has the shape ``(examples, *shape of one example)``, ``y`` holds labels in
    ``range(classes)``. Every client has at least one training example. Arrays of other types are
    turned into contiguous float32 and int64 ones; arrays that already are such are not copied.
    Plain lists of indices, one per client, are turned into ``IndexLists``; ``MadeLists`` are made
    for the clients asked for, so that there may be very many. ``structure`` says which true cluster
    every client is of, where that is known, to judge the groups that are found. ``names`` are what
    clients are called where they have names; else they are known by their numbers alone.
    """

    name: str
    x: NDArray[np.float32]
    y: NDArray[np.int64]
    train: IndexLists | MadeLists
    test: IndexLists | MadeLists
    classes: int
    structure: NDArray[np.int64] | None = None
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check_name_and_classes(self.name, self.classes)
        object.__setattr__(self, "x", _numbers(self.name, self.x))
        object.__setattr__(self, "y", _labels(self.name, self.y))
        for part in ("train", "test"):
            lists = getattr(self, part)
            if not isinstance(lists, IndexLists | MadeLists):
                object.__setattr__(self, part, IndexLists.of(lists))
        _check_labels(self)
        _check_lists(self)
        if self.structure is not None:
            structure = _structure(self.name, self.structure, self.clients)
            object.__setattr__(self, "structure", structure)
        object.__setattr__(self, "names", _names(self.name, self.names, self.clients))

    @property
    def clients(self) -> int:
        """The number of clients."""
        return len(self.train)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one example."""
        return self.x.shape[1:]


def _check_name_and_classes(name: object, classes: object) -> None:
    if not (isinstance(name, str) and name):
        raise DataError(f"The name of a federation must be a text that is not empty, not {name!r}.")
    if isinstance(classes, bool) or not isinstance(classes, Integral) or int(classes) < 1:
        raise DataError(
            f"The number of classes of '{name}' must be a whole number of at least 1, "
            f"not {classes!r}."
        )


def _numbers(name: str, x: ArrayLike) -> NDArray[np.float32]:
    try:
        numbers = np.ascontiguousarray(x, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise DataError(f"The examples of '{name}' are no array of numbers ({error}).") from None
    if 0 in numbers.shape[1:]:
        raise DataError(
            f"The examples of '{name}' are of shape {numbers.shape[1:]}, and an example must hold "
            "at least one number: fill them in, or leave them out."
        )
    # A minimum and a maximum, because asking every number would need another array of their size.
    if numbers.size and not np.isfinite([numbers.min(), numbers.max()]).all():
        raise DataError(
            f"The examples of '{name}' hold NaN or infinity: fill in or leave out what is missing."
        )
    return numbers


def _labels(name: str, y: ArrayLike) -> NDArray[np.int64]:
    labels = np.asarray(y)
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        raise DataError(
            f"The labels of '{name}' are of type {labels.dtype} and shape {labels.shape}: "
            "give one whole number for each example."
        )
    return np.ascontiguousarray(labels, dtype=np.int64)


def _check_labels(federation: Federation) -> None:
    name, x, y = federation.name, federation.x, federation.y
    if len(x) != len(y):
        raise DataError(
            f"'{name}' has {len(x)} examples but {len(y)} labels: every example needs one label."
        )
    odd = y[(y < 0) | (y >= federation.classes)]
    if len(odd):
        raise DataError(
            f"'{name}' has the label {odd[0]}, outside of 0 to {federation.classes - 1}: "
            "number the classes from 0, or correct their number."
        )


def _check_lists(federation: Federation) -> None:
    name, train, test = federation.name, federation.train, federation.test
    if len(train) == 0 or len(train) != len(test):
        raise DataError(
            f"'{name}' lists {len(train)} clients for training and {len(test)} for testing: "
            "both must name the same clients, at least one."
        )
    _check_indices(name, train, len(federation.y))
    _check_indices(name, test, len(federation.y))
    empty = np.flatnonzero(train.sizes == 0)
    if len(empty):
        raise DataError(
            f"Client {empty[0]} of '{name}' has no training example: "
            "give it one, or leave the client out."
        )


def _check_indices(name: str, lists: IndexLists | MadeLists, examples: int) -> None:
    if isinstance(lists, MadeLists):
        _check_made(name, lists, examples)
        return
    indices = lists.indices
    strange = indices[(indices < 0) | (indices >= examples)]
    if len(strange):
        raise DataError(
            f"A client of '{name}' lists the example {strange[0]}, but the pool has 0 to "
            f"{examples - 1}: correct its index."
        )


def _check_made(name: str, lists: MadeLists, examples: int) -> None:
    """Check what can be known before clients are asked for, and make two lists for a try."""
    if lists.examples != examples:
        raise DataError(
            f"The lists of '{name}' are made for a pool of {lists.examples} examples, and there "
            f"are {examples}: correct that number."
        )
    lists.gathered(np.unique([0, len(lists) - 1]))


def _structure(name: str, structure: ArrayLike, clients: int) -> NDArray[np.int64]:
    cluster_of = np.asarray(structure)
    if cluster_of.shape != (clients,) or cluster_of.dtype.kind not in "iu":
        raise DataError(
            f"The structure of '{name}' is of type {cluster_of.dtype} and shape "
            f"{cluster_of.shape}: give one whole number, its true cluster, for each of the "
            f"{clients} clients."
        )
    return np.ascontiguousarray(cluster_of, dtype=np.int64)


def _names(name: str, names: Sequence[str], clients: int) -> tuple[str, ...]:
    if isinstance(names, str) or not all(isinstance(each, str) for each in names):
        raise DataError(f"The names of the clients of '{name}' must be a list of texts.")
    if len(names) not in (0, clients):
        raise DataError(
            f"'{name}' names {len(names)} of {clients} clients: name all of them, or none."
        )
    return tuple(names)
