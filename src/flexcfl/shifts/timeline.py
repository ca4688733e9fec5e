"""The world over the rounds of a run: shifts act when a round begins, and its view shows it.

A ``TimelineMemory`` is what a checkpoint stores of it: all but what the federation itself says.
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

__all__ = ["Timeline", "TimelineMemory"]


@dataclass(frozen=True, eq=False)
class MovedSlots:
    """Clients with other slots than at home, ``others`` as in ``Slots``, and their lists."""

    others: Ids
    slots: Ids
    offsets: Ids

    @classmethod
    def of(cls, slots: Slots) -> "MovedSlots":
        """Return what is worth remembering of slots."""
        return cls(slots.others, slots.lists.indices, slots.lists.offsets)

    def at(self, home: Slots) -> Slots:
        """Return the slots of which this was remembered, at rest."""
        lists = IndexLists(self.slots, self.offsets)
        return replace(home, others=self.others, lists=lists).rested()


@dataclass(frozen=True, eq=False)
class TimelineMemory:
    """All that is known of a federation's data in round ``number``, as ``Holdings`` has it."""

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
        """Return what is worth remembering of holdings."""
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


@dataclass(eq=False)
class Timeline:
    """The shifts of a federation, one after the other in every round; ``at(round)`` shows it.

    Without shifts all stays as it is. The world depends on the seed and the round alone.
    ``visited(round)`` says which clients may change; at the start there are none. After the shifts
    come all moves that are due in the round.
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
        """The ways in which examples may be seen, None where no shift changes that."""
        if not any(shift.variants for shift in self.shifts.values()):
            return None
        return Variants(len(self.federation.y), self._start.labellings)

    def at(self, number: int) -> DataView:
        """Return what the clients have in round ``number``; the start is round 0.

        The next round is a step from the last that was asked for; an earlier one is replayed.
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
        """Return all that is known of the data in the last round that was asked for."""
        return TimelineMemory.of(self._number, self._now)

    def recall(self, memory: TimelineMemory) -> None:
        """Go to a round that is remembered, without those before it."""
        now = memory.at(self._start)
        self._number, self._before, self._now, self._view = memory.number, now, now, None

    @cached_property
    def start(self) -> DataView:
        """What the clients have at the start, as ``at(0)`` shows it, but without going back."""
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
        """Refuse what the shifts of this package never do, but a shift of the user's own may."""
        train = holdings.train
        empty = train.others[train.lists.sizes == 0]
        if len(empty):
            raise TrainingError(
                f"The shift '{name}' leaves client {empty[0]} without a training example in round "
                f"{number}: fix it so that every client always has one."
            )
