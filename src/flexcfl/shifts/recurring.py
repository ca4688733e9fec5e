"""Recurring: two random clients exchange all their data, and later exchange it back.

A recurring drift as in Gama, Žliobaitė, Bifet, Pechenizkiy, Bouchachia: A Survey on Concept Drift
Adaptation, ACM Computing Surveys 46, 2014: what was seen before returns.
"""

import numpy as np
from pydantic.dataclasses import dataclass as settings

from flexcfl.protocol import Ids
from flexcfl.shifts.holdings import Holdings, Moves
from flexcfl.shifts.options import FORBID, Rounds
from flexcfl.shifts.pairs import Pairing
from flexcfl.shifts.shift import Moment

__all__ = ["Recurring"]


@settings(frozen=True, config=FORBID)
class Recurring(Pairing):
    """Pairs of clients exchange all their data, training and test, and later exchange it back.

    In each round all eligible clients are paired at random, and each pair exchanges with
    ``probability``. It exchanges everything back ``period`` rounds later; until then the two are in
    no other pair.
    """

    period: Rounds = 20

    def exchanged(self, holdings: Holdings, moment: Moment, clients: Ids, partner: Ids) -> Holdings:
        """Let the pairs of this round exchange everything, and note down the way back."""
        slots, position = holdings.slots_of(clients)
        giver, taker = clients[position], partner[position]
        back = Moves(np.full(len(slots), moment.number + self.period), slots, giver)
        return holdings.moved(slots, giver, taker, pending=holdings.pending + back)
