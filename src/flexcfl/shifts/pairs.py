"""Pairs of clients that exchange data, the same way for all shifts that make such pairs.

The eligible clients are those that the round-robin tour has visited, whatever the algorithm. Those
in the middle of an exchange are in no other pair.
"""

import numpy as np

from flexcfl.data.federation import Federation
from flexcfl.errors import SettingsError
from flexcfl.protocol import Ids
from flexcfl.shifts.holdings import Holdings
from flexcfl.shifts.shift import Moment

__all__ = ["check_pairs", "drawn_pairs", "partners"]


def check_pairs(federation: Federation) -> None:
    """Refuse a federation in which nobody has a partner."""
    if federation.clients < 2:
        raise SettingsError(
            f"This shift exchanges data between clients, and the federation '{federation.name}' "
            "has only one: leave the shift out, or take at least two clients."
        )


def drawn_pairs(holdings: Holdings, moment: Moment, probability: float) -> tuple[Ids, Ids]:
    """Pair all eligible clients at random, and return those pairs that exchange.

    Of an odd number one client is left out.
    """
    eligible = np.setdiff1d(moment.visited, holdings.busy, assume_unique=True)
    order = moment.rng.permutation(eligible)
    half = len(order) // 2
    # Drawn for every pair, so that a higher probability adds pairs and changes none.
    chosen = moment.rng.random(half) < probability
    return order[:half][chosen], order[half : 2 * half][chosen]


def partners(ones: Ids, others: Ids, clients: int) -> Ids:
    """Return for every client the one it exchanges with, itself where it is in no pair."""
    partner = np.arange(clients)
    partner[ones], partner[others] = others, ones
    return partner
