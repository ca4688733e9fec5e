"""The examples of each client: lists of indices into the pool, stored or made on demand.

``MadeLists`` computes the list of a client only when it is needed, which allows very many clients.
Example: a million clients with ten neighbouring examples each, from a pool of 60,000.

>>> import numpy as np
>>> def window(clients):
...     return ((clients[:, np.newaxis] * 7919 + np.arange(10)) % 60_000).ravel()
>>> lists = MadeLists.of(window, sizes=np.full(1_000_000, 10), examples=60_000)
>>> len(lists), lists[999_999][:3]
(1000000, array([12081, 12082, 12083]))
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flexcfl.errors import DataError


@dataclass(frozen=True, eq=False)
class IndexLists:
    """One list of indices per client, stored in two flat arrays.

    Client ``c`` owns ``indices[offsets[c]:offsets[c + 1]]``. Use ``IndexLists.of`` to build it from
    separate lists.

    Example:
        >>> lists = IndexLists.of([[0, 2], [1]])
        >>> len(lists), lists[0]
        (2, array([0, 2]))

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
        """Build the flat arrays from one list of indices per client."""
        try:
            parts = [_indices(part) for part in lists]
        except (TypeError, ValueError):
            raise DataError(
                "The lists of a federation must be one list of whole numbers, the indices of "
                "examples, for each client: see IndexLists.of."
            ) from None
        indices = np.concatenate([np.empty(0, np.int64), *parts])
        return cls(indices, offsets_of([len(part) for part in parts]))

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of examples of each client."""
        return np.diff(self.offsets)

    def sizes_of(self, clients: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of examples of the given clients."""
        sizes: NDArray[np.int64] = self.offsets[clients + 1] - self.offsets[clients]
        return sizes

    def gathered(self, clients: NDArray[np.int64]) -> "IndexLists":
        """Return the lists of the given clients, in that order."""
        places, offsets = ranges(self.offsets[clients], self.sizes_of(clients))
        return IndexLists(self.indices[places], offsets)

    def take(self, slots: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the indices at these positions of all lists, one after the other."""
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
    """Lists that are not stored but computed when they are needed."""

    @abstractmethod
    def gathered(self, clients: NDArray[np.int64]) -> IndexLists:
        """Return the lists of the given clients, in that order."""

    @abstractmethod
    def sizes_of(self, clients: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of examples of the given clients."""

    @abstractmethod
    def __len__(self) -> int: ...

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of examples of each client."""
        return self.sizes_of(np.arange(len(self)))

    @property
    def indices(self) -> NDArray[np.int64]:
        """The lists of all clients, one after the other; this needs as much memory as storing."""
        return self.gathered(np.arange(len(self))).indices

    def __getitem__(self, client: int) -> NDArray[np.int64]:
        if not 0 <= client < len(self):
            raise IndexError(client)
        return self.gathered(np.array([client])).indices

    def __iter__(self) -> Iterator[NDArray[np.int64]]:
        return (self[client] for client in range(len(self)))


@dataclass(frozen=True, eq=False)
class MadeLists(DerivedLists):
    """One list of indices per client, computed by a function when it is needed.

    ``make(clients)`` returns the indices of the given clients, list after list in that order. All
    are below ``examples``, the size of the pool. Client ``c`` has ``offsets[c + 1] - offsets[c]``
    indices. They are always the same, whichever other clients are requested. Only the offsets are
    stored, 8 bytes for each client. Use ``MadeLists.of`` to build it from the sizes of the lists.
    """

    make: Callable[[NDArray[np.int64]], ArrayLike]
    offsets: NDArray[np.int64]
    examples: int

    @classmethod
    def of(
        cls, make: Callable[[NDArray[np.int64]], ArrayLike], sizes: ArrayLike, examples: int
    ) -> "MadeLists":
        """Build the lists of ``len(sizes)`` clients.

        Args:
            make: The function that returns the indices of the given clients.
            sizes: The length of each client's list.
            examples: The size of the pool.

        """
        lengths = np.asarray(sizes)
        if lengths.ndim != 1 or lengths.dtype.kind not in "iu" or (lengths < 0).any():
            raise DataError(
                "The sizes of lists that are made on demand must be one whole number of at least 0 "
                "for each client."
            )
        return cls(make, offsets_of(lengths), examples)

    def gathered(self, clients: NDArray[np.int64]) -> IndexLists:
        """Compute the lists of the given clients, in that order."""
        offsets = offsets_of(self.sizes_of(clients))
        return IndexLists(self._call_make(clients, int(offsets[-1])), offsets)

    def sizes_of(self, clients: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of examples of the given clients."""
        sizes: NDArray[np.int64] = self.offsets[clients + 1] - self.offsets[clients]
        return sizes

    def take(self, slots: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the indices at these positions of all lists, one after the other."""
        homes = np.searchsorted(self.offsets, slots, side="right") - 1
        # Neighbouring slots mostly belong to the same client: compute its list once.
        first = np.flatnonzero(np.diff(homes, prepend=-1))
        lists = self.gathered(homes[first])
        shift = lists.offsets[:-1] - self.offsets[homes[first]]
        places = slots + np.repeat(shift, np.diff(first, append=len(slots)))
        return lists.indices[places]

    def __repr__(self) -> str:
        return f"MadeLists(clients {len(self):,}, indices {self.offsets[-1]:,})"

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def _call_make(self, clients: NDArray[np.int64], size: int) -> NDArray[np.int64]:
        if size == 0:
            return np.empty(0, dtype=np.int64)
        made = np.asarray(self.make(clients))
        if made.shape != (size,) or made.dtype.kind not in "iu":
            raise DataError(
                f"The lists of {len(clients)} clients, made on demand, are of type {made.dtype} "
                f"and shape {made.shape}: let the function return {size} whole numbers, the "
                "indices of all of them one after the other."
            )
        if made.min() < 0 or made.max() >= self.examples:
            strange = made[(made < 0) | (made >= self.examples)][0]
            raise DataError(
                f"A list that was made on demand has the example {strange}, but the pool has 0 to "
                f"{self.examples - 1}: correct the function that makes it."
            )
        return made.astype(np.int64, copy=False)


def offsets_of(sizes: ArrayLike) -> NDArray[np.int64]:
    """Return where each list begins if lists of these sizes follow each other, and the total size.

    >>> offsets_of([2, 3])
    array([0, 2, 5])
    """
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])


def ranges(
    starts: NDArray[np.int64], sizes: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the numbers of all ranges, one range after the other, and where each range begins.

    >>> import numpy as np
    >>> ranges(np.array([7, 3]), np.array([2, 3]))
    (array([7, 8, 3, 4, 5]), array([0, 2, 5]))
    """
    offsets = offsets_of(sizes)
    return np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], sizes), offsets


def _indices(values: ArrayLike) -> NDArray[np.int64]:
    indices = np.asarray(values)
    if indices.ndim != 1 or (indices.size and indices.dtype.kind not in "iu"):
        raise TypeError
    return indices.astype(np.int64, copy=False)
