"""Recurring: two random clients exchange all their data, and later exchange it back.

A recurring drift as in Gama, Žliobaitė, Bifet, Pechenizkiy, Bouchachia: A Survey on Concept Drift
Adaptation, ACM Computing Surveys 46, 2014: what was seen before returns.
"""

from typing import ClassVar

import numpy as np
from pydantic.dataclasses import dataclass as settings

from flexcfl.data.federation import Federation
from flexcfl.shifts.holdings import Holdings, Moves
from flexcfl.shifts.options import FORBID, Probability, Rounds
from flexcfl.shifts.pairs import check_pairs, drawn_pairs, partners
from flexcfl.shifts.shift import Moment

__all__ = ["Recurring"]


@settings(frozen=True, config=FORBID)
class Recurring:
    """Pairs of clients exchange all their data, training and test, and later exchange it back.

    In each round all eligible clients are paired at random, and each pair exchanges with
    ``probability``. It exchanges everything back ``period`` rounds later; until then the two are in
    no other pair.
    """

    variants: ClassVar[bool] = False

    probability: Probability = 0.05
    period: Rounds = 20

    def check(self, federation: Federation) -> None:
        """Refuse a federation of one client."""
        check_pairs(federation)

    def apply(self, holdings: Holdings, moment: Moment) -> Holdings:
        """Let the pairs of this round exchange everything, and note down the way back."""
        ones, others = drawn_pairs(holdings, moment, self.probability)
        if len(ones) == 0:
            return holdings
        before = holdings.owner
        owner = partners(ones, others, moment.clients)[before]
        slots = np.flatnonzero(owner != before)
        back = Moves(np.full(len(slots), moment.number + self.period), slots, before[slots])
        return holdings.owned(owner, pending=holdings.pending + back)
