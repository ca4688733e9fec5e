"""Which clients take part in a round: a function of seed, round, arrivals and sizes alone.

Every algorithm, every executor and a resumed run therefore meet the same cohorts. The policies are
those of the FlexCFL paper's experiments (Section 5.1).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol, TypeAlias

import numpy as np

from flexcfl import seeds
from flexcfl.protocol import Flags, Ids

__all__ = ["NEVER", "Attendance", "Cohorts", "Policy"]

NEVER = 2**62  # the round in which a client arrives that nobody has heard of

Policy: TypeAlias = Literal["uniform", "round-robin-then-uniform"]


class Attendance(Protocol):
    """Who is there and who takes part, round by round; ``Cohorts`` says what each means."""

    @property
    def arrival(self) -> Ids:
        """For every client the round from which on it can be chosen."""
        ...

    def present(self, number: int) -> Flags:
        """Return for every client whether it is there."""
        ...

    def choose(self, number: int) -> Ids:
        """Return the cohort of a round."""
        ...

    def toured(self, number: int) -> bool:
        """Whether everybody there has been chosen at least once."""
        ...


@dataclass(frozen=True, eq=False)
class Cohorts:
    """The cohorts of a run, with ``size`` clients each.

    ``arrival`` has for every client the round from which on it can be chosen, 0 for the start.
    What concerns all clients is found out once, and not in every round: a round costs what those
    chosen cost, but where somebody arrives.

    The policy ``uniform`` draws without replacement among those present.
    ``round-robin-then-uniform`` first visits all clients, in an order drawn once from the seed,
    then draws as ``uniform`` does; who arrives joins the end of the tour, which begins again where
    it was over. A round that ends the tour is filled up with clients already seen.
    """

    seed: int
    arrival: Ids
    size: int
    policy: Policy = "uniform"

    def present(self, number: int) -> Flags:
        """Return for every client whether it is there in round ``number``; the start is round 0.

        The flags are not to be written to.
        """
        return self._flags if self._all_there(number) else self.arrival <= number

    def choose(self, number: int) -> Ids:
        """Return the cohort of round ``number`` (the first is 1): client ids, ascending."""
        rng = seeds.generator(self.seed, "cohort", number)
        # A number stands for all below it: the same draws, without a list of all clients.
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
        """Return whom the tour has visited before round ``number``, ascending.

        The tour is that of ``round-robin-then-uniform``, whatever the policy of the run.
        """
        seen = self._seen(number)
        return np.arange(seen) if seen == len(self.arrival) else np.sort(self._tour[:seen])

    def toured(self, number: int) -> bool:
        """Whether everybody there has been chosen at least once by the end of round ``number``."""
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
        """All clients in the order of their first visits: a random one, by arrival."""
        order = seeds.generator(self.seed, "tour").permutation(len(self.arrival))
        return order[np.argsort(self.arrival[order], kind="stable")]

    @cached_property
    def _arriving(self) -> tuple[Ids, Ids]:
        """The rounds in which somebody arrives, the start being the first, and how many do."""
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
        """Return how many clients a tour has visited before round ``number``.

        It visits ``size`` a round until it has caught up with those present, whose number changes
        only when somebody arrives: so from one arrival to the next, not from round to round.
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
    """In which round each client was first chosen, 0 for never, as far as was looked."""

    first: Ids
    last: int = 0

    def until(self, number: int, choose: Callable[[int], Ids]) -> Ids:
        """Look at the rounds up to ``number`` that were not looked at before."""
        for each in range(self.last + 1, number + 1):
            cohort = choose(each)
            self.first[cohort[self.first[cohort] == 0]] = each
        self.last = max(self.last, number)
        return self.first
