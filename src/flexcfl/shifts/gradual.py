"""Gradual: two random clients exchange all their data little by little.

A gradual drift as in Gama, Žliobaitė, Bifet, Pechenizkiy, Bouchachia: A Survey on Concept Drift
Adaptation, ACM Computing Surveys 46, 2014: for a while both distributions are mixed.
"""

from dataclasses import replace

import numpy as np
from pydantic.dataclasses import dataclass as settings

from flexcfl.protocol import Ids
from flexcfl.shifts.holdings import Holdings, Moves, places
from flexcfl.shifts.options import FORBID, Rounds
from flexcfl.shifts.pairs import Pairing
from flexcfl.shifts.shift import Moment

__all__ = ["Gradual"]


@settings(frozen=True, config=FORBID)
class Gradual(Pairing):
    """Pairs of clients exchange all their data, training and test, over several rounds.

    In each round all eligible clients are paired at random, and each pair begins to exchange with
    ``probability``. Over ``duration`` rounds, the first included, parts as equal as can be move, in
    random order. Until all has moved the two are in no other pair.
    """

    duration: Rounds = 20

    def exchanged(self, holdings: Holdings, moment: Moment, clients: Ids, partner: Ids) -> Holdings:
        """Let the pairs of this round begin; the first part is due at once."""
        slots, position = holdings.slots_of(clients)
        # Training and test slots apart, so that of both equal parts move.
        halves = np.split(position, [np.searchsorted(slots, len(holdings.train))])
        after = np.concatenate([self._rounds_until(half, moment) for half in halves])
        moves = Moves(moment.number + after, slots, partner[position])
        return replace(holdings, pending=holdings.pending + moves)

    def _rounds_until(self, owner: Ids, moment: Moment) -> Ids:
        """Return in how many rounds each slot, of which the owner is told, moves.

        After part ``j`` of ``duration`` a client has given the fraction ``j / duration`` of its
        slots, rounded down: so it keeps one until the last part, which brings what it gets at last.
        """
        place = places(owner, moment.rng.random(len(owner)))
        sizes = np.bincount(owner)[owner]
        return -(-(place + 1) * self.duration // sizes) - 1
