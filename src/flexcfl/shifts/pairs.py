"""Pairs of clients that exchange data, the same way for all shifts that make such pairs.

The eligible clients are those that the round-robin tour has visited, whatever the algorithm. Those
in the middle of an exchange are in no other pair.
"""

from typing import ClassVar

import numpy as np
from pydantic.dataclasses import dataclass as settings

from flexcfl.data.federation import Federation
from flexcfl.errors import SettingsError
from flexcfl.protocol import Ids
from flexcfl.shifts.holdings import Holdings
from flexcfl.shifts.options import FORBID, Probability
from flexcfl.shifts.shift import Moment

__all__ = ["Pairing"]


@settings(frozen=True, config=FORBID)
class Pairing:
    """What shifts between two clients have in common.

    In each round all eligible clients are paired at random, and each pair is chosen with
    ``probability``; the paper's is 0.05.
    """

    variants: ClassVar[bool] = False

    probability: Probability = 0.05

    def check(self, federation: Federation) -> None:
        """Refuse a federation in which nobody has a partner."""
        if federation.clients < 2:
            raise SettingsError(
                f"Shifts between clients need at least two clients, and '{federation.name}' has "
                "only one: leave out shifts that exchange data, or take more clients."
            )

    def apply(self, holdings: Holdings, moment: Moment) -> Holdings:
        """Let the pairs of this round exchange; without any, all stays as it is."""
        ones, others = self.pairs(holdings, moment)
        if len(ones) == 0:
            return holdings
        clients, partner = np.concatenate([ones, others]), np.concatenate([others, ones])
        return self.exchanged(holdings, moment, clients, partner)

    def exchanged(self, holdings: Holdings, moment: Moment, clients: Ids, partner: Ids) -> Holdings:
        """Return what all hold when these clients exchange, each with its partner."""
        raise NotImplementedError

    def pairs(self, holdings: Holdings, moment: Moment) -> tuple[Ids, Ids]:
        """Return the pairs that are chosen; of an odd number one client is left out."""
        eligible = np.setdiff1d(moment.visited, holdings.busy, assume_unique=True)
        order = moment.rng.permutation(eligible)
        half = len(order) // 2
        # Drawn for every pair, so that a higher probability adds pairs and changes none.
        chosen = moment.rng.random(half) < self.probability
        return order[:half][chosen], order[half : 2 * half][chosen]
