"""The world over the rounds of a run: which examples each client has, and whose data changed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from flexcfl import seeds
from flexcfl.data.federation import Federation, IndexLists
from flexcfl.data.variants import Variants
from flexcfl.errors import TrainingError
from flexcfl.protocol import Flags, Ids
from flexcfl.shifts.holdings import NOBODY, Holdings
from flexcfl.shifts.shift import Moment, Shift

__all__ = ["Timeline", "View"]

HIDDEN = -1  # in place of the owner of a slot that is not released


@dataclass(frozen=True, eq=False)
class View:
    """What the clients have in one round, as rows of ``variants``, or of the pool where it is None.

    ``train`` has only what is released. ``shifted`` are the clients, ascending, whose data changed
    when the round began: to whom a slot came, whom one left, or who sees its own differently.
    """

    train: IndexLists
    test: IndexLists
    shifted: Ids
    y: NDArray[np.int64]
    classes: int
    variants: Variants | None

    @cached_property
    def label_counts(self) -> NDArray[np.int64]:
        """How many training examples of each label each client has, by the labels that it sees."""
        rows = self.train.indices
        labels = self.y[rows] if self.variants is None else self.variants.labels(self.y, rows)
        clients = np.repeat(np.arange(len(self.train)), self.train.sizes)
        size = len(self.train) * self.classes
        counts = np.bincount(clients * self.classes + labels, minlength=size)
        return counts.reshape(-1, self.classes)


@dataclass(eq=False)
class Timeline:
    """The shifts of a federation, one after the other in every round; ``at(round)`` shows it.

    Without shifts all stays as it is. The world depends on the seed and the round alone.
    ``visited(round)`` says which clients may change, which at the start is nobody. After the shifts
    come all moves that are due in the round.
    """

    federation: Federation
    shifts: Mapping[str, Shift] = field(default_factory=dict)
    seed: int = 0
    visited: Callable[[int], Ids] = lambda number: NOBODY
    _number: int = field(init=False, repr=False)
    _before: Holdings = field(init=False, repr=False)
    _now: Holdings = field(init=False, repr=False)
    _view: View | None = field(init=False, repr=False)

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

    def at(self, number: int) -> View:
        """Return what the clients have in round ``number``; the start is round 0.

        The next round is a step from the last that was asked for; an earlier one is replayed.
        """
        if number < self._number:
            self._restart()
        while self._number < number:
            self._step()
        if self._view is None:
            self._view = self._seen()
        return self._view

    @cached_property
    def _start(self) -> Holdings:
        return self._shifted(Holdings.of(self.federation), 0)

    @cached_property
    def _labels(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        federation = self.federation
        return federation.y[federation.train.indices], federation.y[federation.test.indices]

    def _restart(self) -> None:
        self._number, self._before, self._now, self._view = 0, self._start, self._start, None

    def _step(self) -> None:
        still = self._before is self._now
        self._number, self._before = self._number + 1, self._now
        self._now = self._shifted(self._now, self._number)
        # A view of a round in which nothing changed serves the next such round as well.
        if not (still and self._before is self._now):
            self._view = None

    def _shifted(self, holdings: Holdings, number: int) -> Holdings:
        visited = self.visited(number) if number else NOBODY
        sizes = (self.federation.clients, self.federation.classes)
        for name, shift in self.shifts.items():
            rng = seeds.generator(self.seed, f"shift {name}", number)
            moment = Moment(number, visited, *self._labels, *sizes, rng)
            after = shift.apply(holdings, moment)
            if after is not holdings:
                self._check_everybody_has_data(name, after, number)
            holdings = after
        # Last, so that clients whose exchange ends now are in no other pair in this round.
        return holdings.advanced(number)

    def _check_everybody_has_data(self, name: str, holdings: Holdings, number: int) -> None:
        """Refuse what the shifts of this package never do, but one of somebody's own may."""
        owners = holdings.train_owner[holdings.released]
        empty = np.flatnonzero(np.bincount(owners, minlength=self.federation.clients) == 0)
        if len(empty):
            raise TrainingError(
                f"The shift '{name}' leaves client {empty[0]} without a training example in round "
                f"{number}: mend it so that every client always has one."
            )

    def _seen(self) -> View:
        federation, now = self.federation, self._now
        everything = np.ones(len(now.test_owner), dtype=np.bool_)
        return View(
            self._rows(federation.train, now.train_owner, now.released),
            self._rows(federation.test, now.test_owner, everything),
            _changed(self._before, now),
            federation.y,
            federation.classes,
            self.variants,
        )

    def _rows(self, lists: IndexLists, owner: Ids, usable: Flags) -> IndexLists:
        """Return the rows of each client's usable slots, in the order of the slots."""
        slots = np.flatnonzero(usable)
        slots = slots[np.argsort(owner[slots], kind="stable")]
        owners, rows = owner[slots], lists.indices[slots]
        if self.variants is not None:
            way = (self._now.labelling[owners], self._now.turns[owners])
            rows = self.variants.rows(rows, *way)
        sizes = np.bincount(owners, minlength=len(lists))
        return IndexLists(rows, np.concatenate([[0], np.cumsum(sizes)]))


def _changed(before: Holdings, now: Holdings) -> Ids:
    """Return the clients whose usable slots, or whose way to see them, are not what they were."""
    if before is now:
        return NOBODY
    flags = (before.turns != now.turns) | (before.labelling != now.labelling)
    old, new = (np.where(each.released, each.train_owner, HIDDEN) for each in (before, now))
    pairs = ((old, new), (before.test_owner, now.test_owner))
    for left, came in pairs:
        moved = left != came
        owners = np.concatenate([left[moved], came[moved]])
        flags[owners[owners != HIDDEN]] = True
    return np.flatnonzero(flags)
