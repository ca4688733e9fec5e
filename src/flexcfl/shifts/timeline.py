"""The clients' data over the rounds of a run: shifts act at the beginning of each round.

A ``TimelineMemory`` is the part that a checkpoint stores: everything except the federation itself.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from flexcfl import seeds
from flexcfl.data import Federation, IndexLists
from flexcfl.data.variants import Variants
from flexcfl.errors import TrainingError
from flexcfl.protocol import Ids
from flexcfl.shifts.holdings import Holdings, Moves
from flexcfl.shifts.shift import Moment, Shift
from flexcfl.shifts.slots import NOBODY, Slots
from flexcfl.shifts.view import DataView, changed


@dataclass(frozen=True, eq=False)
class MovedSlots:
    """The clients with other slots than at the start, as in ``Slots``, and their lists."""

    others: Ids
    slots: Ids
    offsets: Ids

    @classmethod
    def of(cls, slots: Slots) -> "MovedSlots":
        """Return the part of slots that a checkpoint stores."""
        return cls(slots.others, slots.lists.indices, slots.lists.offsets)

    def at(self, home: Slots) -> Slots:
        """Return the slots that were stored, at rest."""
        lists = IndexLists(self.slots, self.offsets)
        return replace(home, others=self.others, lists=lists).rested()


@dataclass(frozen=True, eq=False)
class TimelineMemory:
    """The state of a federation's data in round ``number``, with the fields of ``Holdings``."""

    number: int
    train: MovedSlots
    test: MovedSlots
    turns: NDArray[np.int8]
    labelling: NDArray[np.int16]
    labellings: NDArray[np.int64]
    priority: NDArray[np.float64] | None
    share: float
    pending: Moves

    @classmethod
    def of(cls, number: int, holdings: Holdings) -> "TimelineMemory":
        """Return the part of holdings that a checkpoint stores."""
        return cls(
            number,
            MovedSlots.of(holdings.train),
            MovedSlots.of(holdings.test),
            holdings.turns,
            holdings.labelling,
            holdings.labellings,
            holdings.priority,
            holdings.share,
            holdings.pending,
        )

    def at(self, start: Holdings) -> Holdings:
        """Return the holdings that were stored, given those of the start."""
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


@dataclass(eq=False)
class Timeline:
    """The data of a federation under shifts: ``at(round)`` returns the clients' data in a round.

    The shifts act one after the other in every round; then all moves that are due take place. The
    data depend only on the seed and the round; without shifts they do not change.
    ``visited(round)`` returns the clients that may change; at the start there are none.
    """

    federation: Federation
    shifts: Mapping[str, Shift] = field(default_factory=dict)
    seed: int = 0
    visited: Callable[[int], Ids] = lambda number: NOBODY
    _number: int = field(init=False, repr=False)
    _before: Holdings = field(init=False, repr=False)
    _now: Holdings = field(init=False, repr=False)
    _view: DataView | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for shift in self.shifts.values():
            shift.check(self.federation)
        self._restart()

    @cached_property
    def variants(self) -> Variants | None:
        """The variants of examples that clients may see, or None if no shift makes any."""
        if not any(shift.variants for shift in self.shifts.values()):
            return None
        return Variants(len(self.federation.y), self._start.labellings)

    def at(self, number: int) -> DataView:
        """Return the clients' data in round ``number``; the start is round 0.

        A later round continues from the last one requested; an earlier one is replayed.
        """
        if number < self._number:
            self._restart()
        while self._number < number:
            self._step()
        if self._view is None:
            shifted = changed(self._before, self._now)
            self._view = DataView.of(self.federation, self._now, shifted, self.variants)
        return self._view

    def memory(self) -> TimelineMemory:
        """Return a snapshot of the data in the last round requested."""
        return TimelineMemory.of(self._number, self._now)

    def recall(self, memory: TimelineMemory) -> None:
        """Restore a snapshot, without replaying earlier rounds."""
        now = memory.at(self._start)
        self._number, self._before, self._now, self._view = memory.number, now, now, None

    @cached_property
    def start(self) -> DataView:
        """The clients' data at the start, as from ``at(0)``, but without going back."""
        return DataView.of(self.federation, self._start, NOBODY, self.variants)

    @cached_property
    def _start(self) -> Holdings:
        return self._shifted(Holdings.of(self.federation), 0)

    def _restart(self) -> None:
        self._number, self._before, self._now, self._view = 0, self._start, self._start, None

    def _step(self) -> None:
        still = self._before is self._now
        self._number, self._before = self._number + 1, self._now.rested()
        self._now = self._shifted(self._before, self._number)
        # A view of a round in which nothing changed serves the next such round as well.
        if not (still and self._before is self._now):
            self._view = None

    def _shifted(self, holdings: Holdings, number: int) -> Holdings:
        visited = self.visited(number) if number else NOBODY
        pool = (self.federation.y, self.federation.clients, self.federation.classes)
        for name, shift in self.shifts.items():
            rng = seeds.generator(self.seed, f"shift {name}", number)
            moment = Moment(number, visited, *pool, rng)
            after = shift.apply(holdings, moment)
            if after is not holdings:
                self._check_all_have_data(name, after, number)
            holdings = after
        # Last, so that clients whose exchange ends now are in no other pair in this round.
        return holdings.advanced(number)

    def _check_all_have_data(self, name: str, holdings: Holdings, number: int) -> None:
        """Refuse empty clients, which no shift of this package leaves but a custom one may."""
        train = holdings.train
        empty = train.others[train.lists.sizes == 0]
        if len(empty):
            raise TrainingError(
                f"The shift '{name}' leaves client {empty[0]} without a training example in round "
                f"{number}: fix it so that every client always has one."
            )
