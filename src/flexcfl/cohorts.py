"""Which clients take part in a round: a function of seed, round and sizes, and of nothing else.

Every algorithm, every executor and a resumed run therefore meet the same cohorts. The policies are
those of the FlexCFL paper's experiments (Section 5.1).
"""

from typing import Literal, TypeAlias

import numpy as np

from flexcfl import seeds
from flexcfl.protocol import Ids

__all__ = ["Policy", "choose"]

Policy: TypeAlias = Literal["uniform", "round-robin-then-uniform"]


def choose(policy: Policy, *, seed: int, number: int, clients: int, size: int) -> Ids:
    """Return the cohort of round ``number`` (the first is 1): ``size`` client ids, ascending.

    ``uniform`` draws without replacement. ``round-robin-then-uniform`` first visits all clients,
    in an order drawn once from the seed, then draws as ``uniform`` does; the round that ends the
    tour is filled up with clients already seen.
    """
    rng = seeds.generator(seed, "cohort", number)
    first = (number - 1) * size
    if policy == "uniform" or first >= clients:
        return np.sort(rng.choice(clients, size, replace=False))
    tour = seeds.generator(seed, "tour").permutation(clients)
    due = tour[first : first + size]
    seen = rng.choice(tour[:first], size - len(due), replace=False)
    return np.sort(np.concatenate([due, seen]))
