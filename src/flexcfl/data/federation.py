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
        if len(self.x) != len(self.y):
            raise DataError(
                f"'{self.name}' has {len(self.x)} examples but {len(self.y)} labels: "
                "every example needs one label."
            )
        if len(self.train) == 0 or len(self.train) != len(self.test):
            raise DataError(
                f"'{self.name}' lists {len(self.train)} clients for training and "
                f"{len(self.test)} for testing: both must name the same clients, at least one."
            )
        empty = np.flatnonzero(self.train.sizes == 0)
        if len(empty):
            raise DataError(
                f"Client {empty[0]} of '{self.name}' has no training example: "
                "give it one, or leave the client out."
            )

    @property
    def clients(self) -> int:
        """The number of clients."""
        return len(self.train)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one example."""
        return self.x.shape[1:]
