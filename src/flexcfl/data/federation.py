"""A federation: one pool of arrays and, for every client, the indices of its own examples."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flexcfl.errors import DataError

__all__ = ["Federation", "IndexLists"]


@dataclass(frozen=True, eq=False)
class IndexLists:
    """One list of indices per client, stored flat: a million clients are two arrays.

    Client ``c`` owns ``indices[offsets[c]:offsets[c + 1]]``.
    """

    indices: NDArray[np.int64]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, lists: Iterable[NDArray[np.int64]]) -> "IndexLists":
        """Store separate lists flat."""
        parts = [np.asarray(part, dtype=np.int64) for part in lists]
        offsets = np.zeros(len(parts) + 1, dtype=np.int64)
        np.cumsum([len(part) for part in parts], out=offsets[1:])
        return cls(np.concatenate([np.empty(0, np.int64), *parts]), offsets)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many examples each client has."""
        return np.diff(self.offsets)

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

    ``x`` is float32 of shape ``(examples, *shape of one example)``, ``y`` holds labels in
    ``range(classes)``. Every client has at least one training example.
    """

    name: str
    x: NDArray[np.float32]
    y: NDArray[np.int64]
    train: IndexLists
    test: IndexLists
    classes: int

    def __post_init__(self) -> None:
        _check_labels(self)
        _check_lists(self)

    @property
    def clients(self) -> int:
        """The number of clients."""
        return len(self.train)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one example."""
        return self.x.shape[1:]


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
