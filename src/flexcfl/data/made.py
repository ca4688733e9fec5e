"""Clients that are made on demand: any number of them share one pool, and idle ones take no room.

Example: a million clients with ten neighbouring examples each, of a pool of 60,000.

>>> import numpy as np
>>> def window(clients):
...     return ((clients[:, np.newaxis] * 7919 + np.arange(10)) % 60_000).ravel()
>>> lists = MadeLists.of(window, sizes=np.full(1_000_000, 10), examples=60_000)
>>> len(lists), lists[999_999][:3]
(1000000, array([12081, 12082, 12083]))
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flexcfl.data.lists import DerivedLists, IndexLists
from flexcfl.errors import DataError

__all__ = ["MadeLists"]


@dataclass(frozen=True, eq=False)
class MadeLists(DerivedLists):
    """One list of indices per client, made by a function whenever it is asked for.

    ``make(clients)`` returns the indices of some clients, list after list in the order asked, below
    ``examples``, the size of the pool. Client ``c`` has ``offsets[c + 1] - offsets[c]`` of them,
    always the same, whoever else is asked for. Only the offsets are stored: 8 bytes a client.
    """

    make: Callable[[NDArray[np.int64]], ArrayLike]
    offsets: NDArray[np.int64]
    examples: int

    @classmethod
    def of(
        cls, make: Callable[[NDArray[np.int64]], ArrayLike], sizes: ArrayLike, examples: int
    ) -> "MadeLists":
        """Describe as many clients as there are ``sizes``, the lengths of their lists."""
        lengths = np.asarray(sizes)
        if lengths.ndim != 1 or lengths.dtype.kind not in "iu" or (lengths < 0).any():
            raise DataError(
                "The sizes of lists that are made on demand must be one whole number of at least 0 "
                "for each client."
            )
        offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        return cls(make, offsets, examples)

    def gathered(self, clients: NDArray[np.int64]) -> IndexLists:
        """Make the lists of some clients, in the order asked."""
        offsets = np.zeros(len(clients) + 1, dtype=np.int64)
        np.cumsum(self.sizes_of(clients), out=offsets[1:])
        return IndexLists(self._made(clients, int(offsets[-1])), offsets)

    def sizes_of(self, clients: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many examples some clients have."""
        sizes: NDArray[np.int64] = self.offsets[clients + 1] - self.offsets[clients]
        return sizes

    def taken(self, slots: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return what stands in some places of all lists, one after the other."""
        homes = np.searchsorted(self.offsets, slots, side="right") - 1
        # One list for all slots of the same client that follow each other, as they mostly do.
        first = np.flatnonzero(np.diff(homes, prepend=-1))
        lists = self.gathered(homes[first])
        shift = lists.offsets[:-1] - self.offsets[homes[first]]
        places = slots + np.repeat(shift, np.diff(first, append=len(slots)))
        return lists.indices[places]

    def __repr__(self) -> str:
        return f"MadeLists(clients {len(self):,}, indices {self.offsets[-1]:,})"

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def _made(self, clients: NDArray[np.int64], size: int) -> NDArray[np.int64]:
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
