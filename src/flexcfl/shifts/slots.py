"""The owners of slots: the federation's own lists, and other lists for clients that changed.

A *slot* is a position in the concatenated lists of all clients. Only clients whose slots ever
changed are listed, so that all others cost nothing, however many there are.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from flexcfl.data.client_lists import IndexLists, MadeLists, offsets_of, ranges
from flexcfl.errors import TrainingError
from flexcfl.protocol import Flags, Ids

NOBODY = np.empty(0, dtype=np.int64)
NOTHING = IndexLists(NOBODY, np.zeros(1, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class Slots:
    """The slots of one half of the data, training or test: each has one owner at any time.

    ``others`` are the clients, ascending, that own, or once owned, other slots than those of their
    list in ``home``, and ``lists`` are the slots of each of them, ascending. ``touched`` are the
    clients, ascending, that gave or received slots since ``rested`` was called, or None if that is
    not known.
    """

    home: IndexLists | MadeLists
    others: Ids = field(default_factory=lambda: NOBODY)
    lists: IndexLists = NOTHING
    touched: Ids | None = None

    def __len__(self) -> int:
        return int(self.home.offsets[-1])

    def rested(self) -> "Slots":
        """Return the same slots, with no client touched."""
        if self.touched is not None and not len(self.touched):
            return self
        return replace(self, touched=NOBODY)

    def of(self, clients: Ids) -> IndexLists:
        """Return the slots of some clients, ascending for each."""
        starts, sizes = self.home.offsets[clients], self.home.sizes_of(clients)
        place, moved = _found(self.others, clients)
        starts[moved] = self.lists.offsets[place[moved]]
        sizes[moved] = self.lists.sizes_of(place[moved])
        slots, offsets = ranges(starts, sizes)
        listed = np.repeat(moved, sizes)
        slots[listed] = self.lists.indices[slots[listed]]
        return IndexLists(slots, offsets)

    @property
    def owner(self) -> Ids:
        """The owner of every slot."""
        lists = self.of(np.arange(len(self.home)))
        owner = np.empty(len(self), dtype=np.int64)
        owner[lists.indices] = np.repeat(np.arange(len(lists)), lists.sizes)
        return owner

    def owner_of(self, slots: Ids) -> Ids:
        """Return the owners of some slots."""
        owner = np.searchsorted(self.home.offsets, slots, side="right") - 1
        order = np.argsort(self.lists.indices)
        listed = self.lists.indices[order]
        place, found = _found(listed, slots)
        owner[found] = np.repeat(self.others, self.lists.sizes)[order[place[found]]]
        return owner

    def moved(self, slots: Ids, giver: Ids, taker: Ids) -> "Slots":
        """Return these slots after some have moved from ``giver`` to ``taker``."""
        if not len(slots):
            return self
        affected = union(_once(giver), _once(taker))
        before = self.of(affected)
        order = np.argsort(before.indices)
        all_slots = before.indices[order]
        owner = np.repeat(np.arange(len(affected)), before.sizes)[order]
        place, found = _found(all_slots, slots)
        if not found.all():
            raise TrainingError(
                f"A shift moves the slot {slots[~found][0]} from a client that does not own it: "
                "fix it so that it gives only what is there, as holdings.slots_of says."
            )
        owner[place] = np.searchsorted(affected, taker)
        offsets = offsets_of(np.bincount(owner, minlength=len(affected)))
        # Stable, so that the slots of each owner stay in their order.
        after = IndexLists(all_slots[np.argsort(owner, kind="stable")], offsets)
        return self._with(affected, after)

    def _with(self, clients: Ids, lists: IndexLists) -> "Slots":
        """Return these slots with other lists for some clients."""
        offsets = np.concatenate([self.lists.offsets, lists.offsets[1:] + self.lists.offsets[-1]])
        both = IndexLists(np.concatenate([self.lists.indices, lists.indices]), offsets)
        rows = np.concatenate([self.others, clients])
        others, last = np.unique(rows[::-1], return_index=True)  # the newer of two lists
        touched = None if self.touched is None else union(self.touched, clients)
        return Slots(self.home, others, both.gathered(len(rows) - 1 - last), touched)


def union(*parts: Ids) -> Ids:
    """Return all clients of the parts, ascending: like ``np.unique``, but faster for many."""
    return _once(np.sort(np.concatenate(parts)))


def _once(clients: Ids) -> Ids:
    """Leave out consecutive repetitions."""
    return clients[np.flatnonzero(np.diff(clients, prepend=-1))]


def _found(ascending: Ids, wanted: Ids) -> tuple[Ids, Flags]:
    """Return the position of each wanted number in an ascending array, and whether it is there."""
    place = np.searchsorted(ascending, wanted)
    there: Flags = np.zeros(len(wanted), dtype=np.bool_)
    inside = place < len(ascending)
    there[inside] = ascending[place[inside]] == wanted[inside]
    return place, there
