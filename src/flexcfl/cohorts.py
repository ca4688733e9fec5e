"""Which clients take part in a round: a function of seed, round, arrivals and sizes alone.

Every algorithm, every executor and a resumed run therefore meet the same cohorts. The policies are
those of the FlexCFL paper's experiments (Section 5.1).
"""

from typing import Literal, TypeAlias

import numpy as np

from flexcfl import seeds
from flexcfl.protocol import Flags, Ids

__all__ = ["Policy", "choose", "present", "visited"]

Policy: TypeAlias = Literal["uniform", "round-robin-then-uniform"]


def present(arrival: Ids, number: int) -> Flags:
    """Return for every client whether it is there in round ``number``; the start is round 0."""
    return np.asarray(arrival <= number, dtype=np.bool_)


def choose(policy: Policy, *, seed: int, number: int, arrival: Ids, size: int) -> Ids:
    """Return the cohort of round ``number`` (the first is 1): ``size`` client ids, ascending.

    ``arrival`` has for every client the round from which on it can be chosen, 0 for the start.

    ``uniform`` draws without replacement among those present. ``round-robin-then-uniform`` first
    visits all clients, in an order drawn once from the seed, then draws as ``uniform`` does; who
    arrives joins the end of the tour, which begins again where it was over. A round that ends the
    tour is filled up with clients already seen.
    """
    rng = seeds.generator(seed, "cohort", number)
    there = np.flatnonzero(present(arrival, number))
    seen = _seen(arrival, number, size)
    if policy == "uniform" or seen == len(there):
        return np.sort(rng.choice(there, size, replace=False))
    tour = _tour(seed, arrival)[: len(there)]
    due = tour[seen : seen + size]
    again = rng.choice(tour[:seen], size - len(due), replace=False)
    return np.sort(np.concatenate([due, again]))


def visited(*, seed: int, number: int, arrival: Ids, size: int) -> Ids:
    """Return whom the tour has visited before round ``number``, with ``size`` a round, ascending.

    The tour is that of ``round-robin-then-uniform``, whatever the policy of the run.
    """
    return np.sort(_tour(seed, arrival)[: _seen(arrival, number, size)])


def _tour(seed: int, arrival: Ids) -> Ids:
    """Return all clients in the order of their first visits: a random one, by arrival."""
    order = seeds.generator(seed, "tour").permutation(len(arrival))
    return order[np.argsort(arrival[order], kind="stable")]


def _seen(arrival: Ids, number: int, size: int) -> int:
    """Return how many clients a tour has visited before round ``number``.

    It visits ``size`` a round until it has caught up with those present, whose number changes only
    when somebody arrives: so from one arrival to the next, not from round to round.
    """
    rounds, clients = np.unique(np.maximum(arrival, 1), return_counts=True)
    ends = np.minimum(np.append(rounds[1:], number), number)
    seen = 0
    for there, length in zip(np.cumsum(clients), ends - np.minimum(rounds, number), strict=True):
        seen = min(int(there), seen + size * int(length))
    return seen
