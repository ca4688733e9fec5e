"""Chooses the clients of each round from nothing but seed, round, arrivals and cohort size.

All algorithms, all executors and resumed runs therefore see the same cohorts. The policies are
those of the FlexCFL paper's experiments (Section 5.1).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol, TypeAlias

import numpy as np

from flexcfl import seeds
from flexcfl.protocol import Flags, Ids

NEVER = 2**62  # the arrival round of a client that does not exist

Policy: TypeAlias = Literal["uniform", "round-robin-then-uniform"]


class Attendance(Protocol):
    """Which clients are present and which take part in each round, as ``Cohorts`` explains."""

    @property
    def arrival(self) -> Ids:
        """For each client the first round in which it can be chosen."""
        ...

    def present(self, number: int) -> Flags:
        """Return for each client whether it is present."""
        ...

    def choose(self, number: int) -> Ids:
        """Return the cohort of a round."""
        ...

    def toured(self, number: int) -> bool:
        """Return whether all clients present have been chosen at least once."""
        ...


@dataclass(frozen=True, eq=False)
class Cohorts:
    """The cohorts of a run, with ``size`` clients each.

    ``arrival`` has for each client the first round in which it can be chosen; 0 is the start. Work
    that concerns all clients is done once, so a round costs no more than its cohort, unless clients
    arrive in it.

    The policy ``uniform`` draws without replacement from the clients present.
    ``round-robin-then-uniform`` first visits all clients in an order drawn once from the seed, and
    then draws like ``uniform``. Newcomers join the end of this tour, which resumes if it was over.
    The last round of the tour is filled up with clients already visited.
    """

    seed: int
    arrival: Ids
    size: int
    policy: Policy = "uniform"

    def present(self, number: int) -> Flags:
        """Return for each client whether it is present in round ``number``; the start is round 0.

        The array is read-only.
        """
        return self._flags if self._all_there(number) else self.arrival <= number

    def choose(self, number: int) -> Ids:
        """Return the cohort of round ``number`` (the first is 1): client ids, ascending."""
        rng = seeds.generator(self.seed, "cohort", number)
        # ``choice`` takes an integer for all numbers below it: same draws, no list of clients.
        there: Ids | int = len(self.arrival)
        if not self._all_there(number):
            there = np.flatnonzero(self.present(number))
        number_there = there if isinstance(there, int) else len(there)
        seen = self._seen(number)
        if self.policy == "uniform" or seen == number_there:
            return np.sort(rng.choice(there, self.size, replace=False))
        due = self._tour[:number_there][seen : seen + self.size]
        again = rng.choice(seen, self.size - len(due), replace=False)
        return np.sort(np.concatenate([due, self._tour[again]]))

    def visited(self, number: int) -> Ids:
        """Return the clients that the tour has visited before round ``number``, ascending.

        This is the tour of ``round-robin-then-uniform``, even if the run has another policy.
        """
        seen = self._seen(number)
        return np.arange(seen) if seen == len(self.arrival) else np.sort(self._tour[:seen])

    def toured(self, number: int) -> bool:
        """Return whether all clients present have been chosen by the end of round ``number``."""
        present = self.present(number)
        if self.policy != "uniform":
            return self._seen(number + 1) == np.count_nonzero(present)
        first = self._chosen.until(number, self.choose)[present]
        return bool(((first > 0) & (first <= number)).all())

    @cached_property
    def _chosen(self) -> "_Chosen":
        return _Chosen(np.zeros(len(self.arrival), dtype=np.int64))

    @cached_property
    def _tour(self) -> Ids:
        """All clients in the order of their first visits: by arrival, then random."""
        order = seeds.generator(self.seed, "tour").permutation(len(self.arrival))
        return order[np.argsort(self.arrival[order], kind="stable")]

    @cached_property
    def _arriving(self) -> tuple[Ids, Ids]:
        """The rounds in which clients arrive (at least round 1), and how many arrive in each."""
        return np.unique(np.maximum(self.arrival, 1), return_counts=True)

    @cached_property
    def _flags(self) -> Flags:
        flags = np.ones(len(self.arrival), dtype=np.bool_)
        flags.flags.writeable = False
        return flags

    def _all_there(self, number: int) -> bool:
        last = int(self._arriving[0][-1])
        return number >= last or (last == 1 and not self.arrival.any())

    def _seen(self, number: int) -> int:
        """Return how many clients the tour has visited before round ``number``.

        The tour visits ``size`` clients a round until it has visited all that are present. Their
        number changes only on arrivals, so this steps from one arrival to the next.
        """
        rounds, clients = self._arriving
        ends = np.minimum(np.append(rounds[1:], number), number)
        lengths = ends - np.minimum(rounds, number)
        seen = 0
        for there, length in zip(np.cumsum(clients), lengths, strict=True):
            seen = min(int(there), seen + self.size * int(length))
        return seen


@dataclass(eq=False)
class _Chosen:
    """The round in which each client was first chosen, up to ``last``; 0 means not yet."""

    first: Ids
    last: int = 0

    def until(self, number: int, choose: Callable[[int], Ids]) -> Ids:
        """Extend the search to round ``number``, and return the first rounds."""
        for each in range(self.last + 1, number + 1):
            cohort = choose(each)
            self.first[cohort[self.first[cohort] == 0]] = each
        self.last = max(self.last, number)
        return self.first
