"""The clients' data in one round, computed for the clients requested."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from flexcfl.data import Federation, IndexLists
from flexcfl.data.client_lists import DerivedLists
from flexcfl.data.variants import Variants
from flexcfl.protocol import Flags, Ids
from flexcfl.shifts.holdings import Holdings
from flexcfl.shifts.slots import NOBODY, Slots, union


@dataclass(frozen=True, eq=False)
class HeldExamples(DerivedLists):
    """The training or test examples of a round, as rows of ``variants``, or of the pool if None.

    Training examples that are not released are left out.
    """

    holdings: Holdings
    half: Literal["train", "test"]
    variants: Variants | None

    def gathered(self, clients: Ids) -> IndexLists:
        """Return the examples of some clients, in the given order, each in the order of slots."""
        holdings, slots = self.holdings, self._slots(clients)
        home = (holdings.train if self.half == "train" else holdings.test).home
        rows = home.take(slots.indices)
        if self.variants is not None:
            owner = np.repeat(clients, slots.sizes)
            rows = self.variants.rows(rows, holdings.labelling[owner], holdings.turns[owner])
        return IndexLists(rows, slots.offsets)

    def sizes_of(self, clients: Ids) -> Ids:
        """Return how many examples some clients have."""
        return self._slots(clients).sizes

    def __len__(self) -> int:
        return len(self.holdings.turns)

    def _slots(self, clients: Ids) -> IndexLists:
        holdings = self.holdings
        return holdings.usable(clients) if self.half == "train" else holdings.test.of(clients)


@dataclass(frozen=True, eq=False)
class DataView:
    """The clients' data in one round.

    ``shifted`` are the clients, ascending, whose data changed when the round began: each received
    or lost a slot, or sees its examples differently.
    """

    train: HeldExamples
    test: HeldExamples
    shifted: Ids
    y: NDArray[np.int64]
    classes: int
    variants: Variants | None

    @classmethod
    def of(
        cls, federation: Federation, now: Holdings, shifted: Ids, variants: Variants | None
    ) -> "DataView":
        """Return the data of a federation under the holdings ``now``."""
        halves = (HeldExamples(now, "train", variants), HeldExamples(now, "test", variants))
        return cls(*halves, shifted, federation.y, federation.classes, variants)

    def label_counts_of(self, clients: Ids) -> NDArray[np.int64]:
        """Return how many training examples of each label clients have, as they see them."""
        lists = self.train.gathered(clients)
        rows, variants = lists.indices, self.variants
        labels = self.y[rows] if variants is None else variants.labels(self.y, rows)
        position = np.repeat(np.arange(len(clients)), lists.sizes)
        size = len(clients) * self.classes
        counts = np.bincount(position * self.classes + labels, minlength=size)
        return counts.reshape(-1, self.classes)

    @cached_property
    def label_counts(self) -> NDArray[np.int64]:
        """How many training examples of each label each client has, by the labels that it sees."""
        return self.label_counts_of(np.arange(len(self.train)))


def changed(before: Holdings, now: Holdings) -> Ids:
    """Return the clients whose usable slots changed, or that see them differently."""
    if before is now:
        return NOBODY
    moved = _maybe_moved(before, now)
    unlike = _differ(before.usable(moved), now.usable(moved))
    unlike |= _differ(before.test.of(moved), now.test.of(moved))
    return np.union1d(moved[unlike], _otherwise_seen(before, now))


def _maybe_moved(before: Holdings, now: Holdings) -> Ids:
    """Return the clients whose slots may have changed; all others have the same slots."""
    if before.share != now.share or before.priority is not now.priority:
        return np.arange(len(now.turns))
    return union(_touched(before.train, now.train), _touched(before.test, now.test))


def _touched(before: Slots, now: Slots) -> Ids:
    if before is now:
        return NOBODY
    return union(before.others, now.others) if now.touched is None else now.touched


def _differ(one: IndexLists, other: IndexLists) -> Flags:
    """Return for each pair of lists whether they differ."""
    flags: Flags = one.sizes != other.sizes
    alike = np.flatnonzero(~flags)
    left, right = one.gathered(alike), other.gathered(alike)
    flags[np.repeat(alike, left.sizes)[left.indices != right.indices]] = True
    return flags


def _otherwise_seen(before: Holdings, now: Holdings) -> Ids:
    if before.turns is now.turns and before.labelling is now.labelling:
        return NOBODY
    return np.flatnonzero((before.turns != now.turns) | (before.labelling != now.labelling))
