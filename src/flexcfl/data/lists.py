"""Lists of indices, one for each client: stored flat, or derived for the clients asked for."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flexcfl.errors import DataError

__all__ = ["DerivedLists", "IndexLists", "ranges"]


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

    def sizes_of(self, clients: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many examples some clients have."""
        sizes: NDArray[np.int64] = self.offsets[clients + 1] - self.offsets[clients]
        return sizes

    def gathered(self, clients: NDArray[np.int64]) -> "IndexLists":
        """Return the lists of some clients, in the order asked."""
        places, offsets = ranges(self.offsets[clients], self.sizes_of(clients))
        return IndexLists(self.indices[places], offsets)

    def taken(self, slots: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return what stands in some places of all lists, one after the other."""
        return self.indices[slots]

    def __repr__(self) -> str:
        return f"IndexLists(clients {len(self):,}, indices {len(self.indices):,})"

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, client: int) -> NDArray[np.int64]:
        if not 0 <= client < len(self):
            raise IndexError(client)
        return self.indices[self.offsets[client] : self.offsets[client + 1]]

    def __iter__(self) -> Iterator[NDArray[np.int64]]:
        return (self[client] for client in range(len(self)))


class DerivedLists(ABC):
    """Lists that are not stored: each is looked up when it is asked for."""

    @abstractmethod
    def gathered(self, clients: NDArray[np.int64]) -> IndexLists:
        """Return the lists of some clients, in the order asked."""

    @abstractmethod
    def sizes_of(self, clients: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many examples some clients have."""

    @abstractmethod
    def __len__(self) -> int: ...

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many examples each client has."""
        return self.sizes_of(np.arange(len(self)))

    @property
    def indices(self) -> NDArray[np.int64]:
        """The lists of all clients, one after the other: as much memory as if they were stored."""
        return self.gathered(np.arange(len(self))).indices

    def __getitem__(self, client: int) -> NDArray[np.int64]:
        if not 0 <= client < len(self):
            raise IndexError(client)
        return self.gathered(np.array([client])).indices

    def __iter__(self) -> Iterator[NDArray[np.int64]]:
        return (self[client] for client in range(len(self)))


def ranges(
    starts: NDArray[np.int64], sizes: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return all numbers of some ranges, one range after the other, and where each begins.

    >>> import numpy as np
    >>> ranges(np.array([7, 3]), np.array([2, 3]))
    (array([7, 8, 3, 4, 5]), array([0, 2, 5]))
    """
    offsets = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], sizes), offsets


def _indices(values: ArrayLike) -> NDArray[np.int64]:
    indices = np.asarray(values)
    if indices.ndim != 1 or (indices.size and indices.dtype.kind not in "iu"):
        raise TypeError
    return indices.astype(np.int64, copy=False)
