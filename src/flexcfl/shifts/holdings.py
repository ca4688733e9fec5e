"""Who holds what: every place of a federation's lists has one owner at any time.

A *slot* is a position in ``federation.train.indices`` or ``federation.test.indices``. Shifts give
slots to other owners, or change how an owner sees its own. So no example is ever lost or doubled.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexcfl.data.federation import Federation
from flexcfl.protocol import Flags, Ids

__all__ = ["NOBODY", "Holdings", "Moves", "places"]

NOBODY = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Moves:
    """Slots that go to a new ``owner`` when the round ``due`` begins, after all shifts.

    Test slots are numbered on from the training slots, as in ``Holdings.owner``.
    """

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

    ``turns`` and ``labelling`` are every client's way to see its examples: by how many quarter
    turns, and by which row of ``labellings``. ``share`` of each client's training slots is
    released, those of the lowest ``priority``. ``pending`` are exchanges that are under way.
    """

    train_owner: Ids
    test_owner: Ids
    turns: Ids
    labelling: Ids
    labellings: NDArray[np.int64]
    priority: NDArray[np.float64]
    share: float = 1.0
    pending: Moves = NO_MOVES

    @classmethod
    def of(cls, federation: Federation) -> "Holdings":
        """Return what the federation's lists say: everybody sees all of its own, as it is."""
        clients = np.arange(federation.clients)
        return cls(
            train_owner=np.repeat(clients, federation.train.sizes),
            test_owner=np.repeat(clients, federation.test.sizes),
            turns=np.zeros_like(clients),
            labelling=np.zeros_like(clients),
            labellings=np.arange(federation.classes)[np.newaxis],
            priority=np.zeros(len(federation.train.indices)),
        )

    @cached_property
    def owner(self) -> Ids:
        """The owners of all training slots, then of all test slots."""
        return np.concatenate([self.train_owner, self.test_owner])

    @cached_property
    def released(self) -> Flags:
        """Which training slots their owners can use: the share to the nearest, and at least one."""
        if self.share >= 1:
            return np.ones(len(self.train_owner), dtype=np.bool_)
        sizes = np.bincount(self.train_owner)
        # Rounded first, so that a half is a half whatever binary fractions make of 0.145 * 100.
        number = np.maximum(np.floor(np.round(self.share * sizes, 6) + 0.5), 1)
        flags: Flags = places(self.train_owner, self.priority) < number[self.train_owner]
        return flags

    @property
    def busy(self) -> Ids:
        """The clients in the middle of an exchange, who give or receive slots later."""
        moves = self.pending
        return np.unique(np.concatenate([self.owner[moves.slot], moves.owner]))

    def owned(self, owner: Ids, **changes: Any) -> "Holdings":
        """Return these holdings with other owners of all slots."""
        train, test = np.split(owner, [len(self.train_owner)])
        return replace(self, train_owner=train, test_owner=test, **changes)

    def advanced(self, number: int) -> "Holdings":
        """Return these holdings after all moves that are due by round ``number``."""
        due = self.pending.due <= number
        if not due.any():
            return self
        moves, owner = self.pending.where(due), self.owner.copy()
        owner[moves.slot] = moves.owner
        return self.owned(owner, pending=self.pending.where(~due))


def places(owner: Ids, priority: NDArray[np.float64]) -> Ids:
    """Return the place of each slot among all of its owner, by priority; 0 is the lowest.

    >>> import numpy as np
    >>> places(np.array([1, 0, 1, 1]), np.array([0.5, 0.9, 0.2, 0.7]))
    array([1, 0, 0, 2])
    """
    order = np.lexsort((priority, owner))
    sizes = np.bincount(owner)
    place = np.empty_like(owner)
    place[order] = np.arange(len(owner)) - (np.cumsum(sizes) - sizes)[owner[order]]
    return place
