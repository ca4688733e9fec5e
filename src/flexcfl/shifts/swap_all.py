"""Swap all: two random clients exchange all their data.

Duan et al.: Flexible Clustered Federated Learning for Client-Level Data Distribution Shift. IEEE
TPDS 33, 2022, Section 5.3.
"""

from typing import ClassVar

from pydantic.dataclasses import dataclass as settings

from flexcfl.data.federation import Federation
from flexcfl.shifts.holdings import Holdings
from flexcfl.shifts.options import FORBID, Probability
from flexcfl.shifts.pairs import check_pairs, drawn_pairs, partners
from flexcfl.shifts.shift import Moment

__all__ = ["SwapAll"]


@settings(frozen=True, config=FORBID)
class SwapAll:
    """Pairs of clients exchange all their data, training and test.

    In each round all eligible clients are paired at random, and each pair exchanges with
    ``probability``; the paper's is 0.05.
    """

    variants: ClassVar[bool] = False

    probability: Probability = 0.05

    def check(self, federation: Federation) -> None:
        """Refuse a federation of one client."""
        check_pairs(federation)

    def apply(self, holdings: Holdings, moment: Moment) -> Holdings:
        """Let the pairs of this round exchange everything."""
        ones, others = drawn_pairs(holdings, moment, self.probability)
        if len(ones) == 0:
            return holdings
        return holdings.owned(partners(ones, others, moment.clients)[holdings.owner])
