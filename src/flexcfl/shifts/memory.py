"""The world at some moment, without what a federation itself says: for checkpoints."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from flexcfl.data.client_lists import IndexLists
from flexcfl.protocol import Ids
from flexcfl.shifts.holdings import Holdings, Moves
from flexcfl.shifts.slots import Slots

__all__ = ["Moved", "World"]


@dataclass(frozen=True, eq=False)
class Moved:
    """Who owns other slots than at home: ``others`` as ``Slots`` has them, and their lists."""

    others: Ids
    slots: Ids
    offsets: Ids

    @classmethod
    def of(cls, slots: Slots) -> "Moved":
        """Return what is worth remembering of slots."""
        return cls(slots.others, slots.lists.indices, slots.lists.offsets)

    def at(self, home: Slots) -> Slots:
        """Return the slots of which this was remembered, at rest."""
        lists = IndexLists(self.slots, self.offsets)
        return replace(home, others=self.others, lists=lists).rested()


@dataclass(frozen=True, eq=False)
class World:
    """All that is known of a federation's data in round ``number``, as ``Holdings`` has it."""

    number: int
    train: Moved
    test: Moved
    turns: NDArray[np.int8]
    labelling: NDArray[np.int16]
    labellings: NDArray[np.int64]
    priority: NDArray[np.float64] | None
    share: float
    pending: Moves

    @classmethod
    def of(cls, number: int, holdings: Holdings) -> "World":
        """Return what is worth remembering of holdings."""
        return cls(
            number,
            Moved.of(holdings.train),
            Moved.of(holdings.test),
            holdings.turns,
            holdings.labelling,
            holdings.labellings,
            holdings.priority,
            holdings.share,
            holdings.pending,
        )

    def at(self, start: Holdings) -> Holdings:
        """Return the holdings of which this was remembered, given those of the start."""
        return replace(
            start,
            train=self.train.at(start.train),
            test=self.test.at(start.test),
            turns=self.turns,
            labelling=self.labelling,
            labellings=self.labellings,
            priority=self.priority,
            share=self.share,
            pending=self.pending,
        )
