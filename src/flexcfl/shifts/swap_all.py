"""Swap all: two random clients exchange all their data.

Duan et al.: Flexible Clustered Federated Learning for Client-Level Data Distribution Shift. IEEE
TPDS 33, 2022, Section 5.3.
"""

from pydantic.dataclasses import dataclass as settings

from flexcfl.protocol import Ids
from flexcfl.shifts.holdings import Holdings
from flexcfl.shifts.options import FORBID
from flexcfl.shifts.pairs import Pairing
from flexcfl.shifts.shift import Moment

__all__ = ["SwapAll"]


@settings(frozen=True, config=FORBID)
class SwapAll(Pairing):
    """Pairs of clients exchange all their data, training and test.

    In each round all eligible clients are paired at random, and each pair exchanges with
    ``probability``; the paper's is 0.05.
    """

    def exchanged(self, holdings: Holdings, moment: Moment, clients: Ids, partner: Ids) -> Holdings:
        """Let the pairs of this round exchange everything."""
        slots, position = holdings.slots_of(clients)
        return holdings.moved(slots, clients[position], partner[position])
