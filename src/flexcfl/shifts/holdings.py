"""Which client holds which examples: every slot of a federation has one owner at any time.

A *slot* is a position in the concatenated lists ``federation.train`` of all clients; the slots of
``federation.test`` are numbered after these. Shifts give slots to other owners, or change how an
owner sees its slots. So no example is ever lost or duplicated.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexcfl.data import Federation, IndexLists
from flexcfl.data.client_lists import offsets_of
from flexcfl.protocol import Flags, Ids
from flexcfl.shifts.slots import NOBODY, Slots


@dataclass(frozen=True, eq=False)
class Moves:
    """Slots that go to a new ``owner`` when the round ``due`` begins, after all shifts."""

    due: Ids
    slot: Ids
    owner: Ids

    def __add__(self, more: "Moves") -> "Moves":
        pairs = ((self.due, more.due), (self.slot, more.slot), (self.owner, more.owner))
        return Moves(*(np.concatenate(pair) for pair in pairs))

    def where(self, chosen: Flags) -> "Moves":
        """Return some of these moves."""
        return Moves(self.due[chosen], self.slot[chosen], self.owner[chosen])


NO_MOVES = Moves(NOBODY, NOBODY, NOBODY)


@dataclass(frozen=True, eq=False)
class Holdings:
    """The owner of every slot, and how the clients see what they own.

    ``turns`` and ``labelling`` say how each client sees its examples: by how many quarter turns,
    and by which row of ``labellings``. A ``share`` of each client's training slots is released,
    those with the lowest ``priority``, which is None if no priorities were drawn. ``pending`` are
    exchanges that have begun and are not finished.
    """

    train: Slots
    test: Slots
    turns: NDArray[np.int8]
    labelling: NDArray[np.int16]
    labellings: NDArray[np.int64]
    priority: NDArray[np.float64] | None = None
    share: float = 1.0
    pending: Moves = NO_MOVES

    @classmethod
    def of(cls, federation: Federation) -> "Holdings":
        """Return the holdings at the start: each client owns its list and sees it unchanged."""
        return cls(
            train=Slots(federation.train).rested(),
            test=Slots(federation.test).rested(),
            turns=np.zeros(federation.clients, dtype=np.int8),
            labelling=np.zeros(federation.clients, dtype=np.int16),
            labellings=np.arange(federation.classes)[np.newaxis],
        )

    def slots_of(self, clients: Ids) -> tuple[Ids, Ids]:
        """Return all slots of some clients, ascending, and the position of each slot's owner.

        The owners are ``clients[position]``.
        """
        train, test = self.train.of(clients), self.test.of(clients)
        slots = np.concatenate([train.indices, test.indices + len(self.train)])
        ids = np.arange(len(clients))
        position = np.concatenate([np.repeat(ids, train.sizes), np.repeat(ids, test.sizes)])
        order = np.argsort(slots)
        return slots[order], position[order]

    def examples(self, slots: Ids) -> Ids:
        """Return the examples in some slots, as indices of the pool."""
        train, test = self._halves(slots)
        found = np.empty_like(slots)
        found[train] = self.train.home.take(slots[train])
        found[test] = self.test.home.take(slots[test] - len(self.train))
        return found

    def moved(self, slots: Ids, giver: Ids, taker: Ids, **changes: Any) -> "Holdings":
        """Return these holdings after slots have moved from ``giver`` to ``taker``."""
        train, test = self._halves(slots)
        return replace(
            self,
            train=self.train.moved(slots[train], giver[train], taker[train]),
            test=self.test.moved(slots[test] - len(self.train), giver[test], taker[test]),
            **changes,
        )

    def rested(self) -> "Holdings":
        """Return the same holdings at the beginning of a round, with no client touched yet."""
        train, test = self.train.rested(), self.test.rested()
        if train is self.train and test is self.test:
            return self
        return replace(self, train=train, test=test)

    @cached_property
    def owner(self) -> Ids:
        """The owners of all training slots, then of all test slots; computed for all slots."""
        return np.concatenate([self.train.owner, self.test.owner])

    def owned(self, owner: Ids, **changes: Any) -> "Holdings":
        """Return these holdings with new owners, given for all slots."""
        slots = np.flatnonzero(owner != self.owner)
        return self.moved(slots, self.owner[slots], owner[slots], **changes)

    def usable(self, clients: Ids) -> IndexLists:
        """Return the released training slots of clients: the share, rounded, but at least one."""
        lists = self.train.of(clients)
        if self.share >= 1:
            return lists
        # Rounded first, so that a half is exact although 0.145 * 100 is not 14.5 in binary.
        number = np.maximum(np.floor(np.round(self.share * lists.sizes, 6) + 0.5), 1)
        position = np.repeat(np.arange(len(clients)), lists.sizes)
        drawn = self.priority
        priority = np.zeros(len(position)) if drawn is None else drawn[lists.indices]
        released = ranks(position, priority) < number[position]
        sizes = np.bincount(position[released], minlength=len(clients))
        return IndexLists(lists.indices[released], offsets_of(sizes))

    @property
    def busy(self) -> Ids:
        """The clients in an unfinished exchange, which give or receive slots later."""
        moves = self.pending
        if not len(moves.slot):
            return NOBODY
        return np.unique(np.concatenate([self._owner_of(moves.slot), moves.owner]))

    def advanced(self, number: int) -> "Holdings":
        """Return these holdings after all moves that are due by round ``number``."""
        due = self.pending.due <= number
        if not due.any():
            return self
        moves, later = self.pending.where(due), self.pending.where(~due)
        return self.moved(moves.slot, self._owner_of(moves.slot), moves.owner, pending=later)

    def _owner_of(self, slots: Ids) -> Ids:
        train, test = self._halves(slots)
        owner = np.empty_like(slots)
        owner[train] = self.train.owner_of(slots[train])
        owner[test] = self.test.owner_of(slots[test] - len(self.train))
        return owner

    def _halves(self, slots: Ids) -> tuple[Flags, Flags]:
        train: Flags = slots < len(self.train)
        return train, ~train


def ranks(owner: Ids, priority: NDArray[np.float64]) -> Ids:
    """Return the rank of each slot among those of its owner, by priority; 0 is the lowest.

    >>> import numpy as np
    >>> ranks(np.array([1, 0, 1, 1]), np.array([0.5, 0.9, 0.2, 0.7]))
    array([1, 0, 0, 2])
    """
    order = np.lexsort((priority, owner))
    sizes = np.bincount(owner)
    rank = np.empty_like(owner)
    rank[order] = np.arange(len(owner)) - (np.cumsum(sizes) - sizes)[owner[order]]
    return rank
