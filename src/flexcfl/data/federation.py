"""A federation: one pool of arrays and, for every client, the indices of its own examples."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flexcfl.errors import DataError

__all__ = ["Federation", "IndexLists"]


@dataclass(frozen=True, eq=False)
class IndexLists:
    """One list of indices per client, stored flat: a million clients are two arrays.

    Client ``c`` owns ``indices[offsets[c]:offsets[c + 1]]``.
    """

    indices: NDArray[np.int64]
    offsets: NDArray[np.int64]

    def __post_init__(self) -> None:
        ends = (self.offsets[0], self.offsets[-1]) if len(self.offsets) else ()
        if ends != (0, len(self.indices)) or (np.diff(self.offsets) < 0).any():
            raise DataError(
                f"The offsets of {len(self.indices)} indices must rise from 0 to that number: "
                "use IndexLists.of, which computes them."
            )

    @classmethod
    def of(cls, lists: Iterable[ArrayLike]) -> "IndexLists":
        """Store separate lists flat."""
        try:
            parts = [_indices(part) for part in lists]
        except (TypeError, ValueError):
            raise DataError(
                "Whose is what must be one list of whole numbers, the indices of examples, for "
                "each client: see IndexLists.of."
            ) from None
        offsets = np.zeros(len(parts) + 1, dtype=np.int64)
        np.cumsum([len(part) for part in parts], out=offsets[1:])
        return cls(np.concatenate([np.empty(0, np.int64), *parts]), offsets)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many examples each client has."""
        return np.diff(self.offsets)

    def gathered(self, clients: NDArray[np.int64]) -> "IndexLists":
        """Return the lists of some clients, in the order asked."""
        sizes = self.offsets[clients + 1] - self.offsets[clients]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        places = np.arange(offsets[-1]) + np.repeat(self.offsets[clients] - offsets[:-1], sizes)
        return IndexLists(self.indices[places], offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, client: int) -> NDArray[np.int64]:
        if not 0 <= client < len(self):
            raise IndexError(client)
        return self.indices[self.offsets[client] : self.offsets[client + 1]]

    def __iter__(self) -> Iterator[NDArray[np.int64]]:
        return (self[client] for client in range(len(self)))


@dataclass(frozen=True, eq=False)
class Federation:
    """Clients and their data: a pool ``x``, ``y``, and whose is what in ``train`` and ``test``.

    ``x`` has the shape ``(examples, *shape of one example)``, ``y`` holds labels in
    ``range(classes)``. Every client has at least one training example. Arrays of other types are
    turned into contiguous float32 and int64 ones; arrays that already are such are not copied.
    Plain lists of indices, one per client, are turned into ``IndexLists``. ``structure`` says which
    true cluster every client is of, where that is known, to judge the groups that are found.
    """

    name: str
    x: NDArray[np.float32]
    y: NDArray[np.int64]
    train: IndexLists
    test: IndexLists
    classes: int
    structure: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        _check_name_and_classes(self.name, self.classes)
        object.__setattr__(self, "x", _numbers(self.name, self.x))
        object.__setattr__(self, "y", _labels(self.name, self.y))
        for part in ("train", "test"):
            lists = getattr(self, part)
            if not isinstance(lists, IndexLists):
                object.__setattr__(self, part, IndexLists.of(lists))
        _check_labels(self)
        _check_lists(self)
        if self.structure is not None:
            structure = _structure(self.name, self.structure, self.clients)
            object.__setattr__(self, "structure", structure)

    @property
    def clients(self) -> int:
        """The number of clients."""
        return len(self.train)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one example."""
        return self.x.shape[1:]


def _indices(values: ArrayLike) -> NDArray[np.int64]:
    indices = np.asarray(values)
    if indices.ndim != 1 or (indices.size and indices.dtype.kind not in "iu"):
        raise TypeError
    return indices.astype(np.int64, copy=False)


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
    for indices in (train.indices, test.indices):
        strange = indices[(indices < 0) | (indices >= len(federation.y))]
        if len(strange):
            raise DataError(
                f"A client of '{name}' lists the example {strange[0]}, but the pool has 0 to "
                f"{len(federation.y) - 1}: correct its index."
            )
    empty = np.flatnonzero(train.sizes == 0)
    if len(empty):
        raise DataError(
            f"Client {empty[0]} of '{name}' has no training example: "
            "give it one, or leave the client out."
        )


def _structure(name: str, structure: ArrayLike, clients: int) -> NDArray[np.int64]:
    cluster_of = np.asarray(structure)
    if cluster_of.shape != (clients,) or cluster_of.dtype.kind not in "iu":
        raise DataError(
            f"The structure of '{name}' is of type {cluster_of.dtype} and shape "
            f"{cluster_of.shape}: give one whole number, its true cluster, for each of the "
            f"{clients} clients."
        )
    return np.ascontiguousarray(cluster_of, dtype=np.int64)
