"""What communication costs, by purpose: in model transfers, as the paper counts, and in bytes.

Duan et al.: Flexible Clustered Federated Learning for Client-Level Data Distribution Shift. IEEE
TPDS 2022, Section 5.3 and its figure on communication. The paper counts one for every model or
direction that goes to a client or comes back. The common origin that newcomers receive, figures and
verdicts are not counted; groups that share hand on one model each. Models that an algorithm has
evaluated are charged to it as ``query``; ``evaluation`` only measures the method and is no part of
it. Bytes are all that the orders send and bring back. What an order costs is its own to say.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import get_args

from flexcfl.protocol import FLOAT32_BYTES, Charge, Cost, Exchange

__all__ = ["PURPOSES", "Cost", "Ledger"]

PURPOSES: tuple[Charge, ...] = get_args(Charge)


@dataclass(frozen=True)
class Ledger:
    """Costs by purpose; what is not listed has cost nothing.

    >>> from flexcfl.protocol import Checked, CheckDrift
    >>> import numpy as np
    >>> asked = np.arange(3)
    >>> Ledger.of((CheckDrift(asked), Checked(asked, asked > 1))).total
    Cost(transfers=0, down_bytes=0, up_bytes=3)
    """

    costs: Mapping[Charge, Cost] = field(default_factory=dict)

    @classmethod
    def of(
        cls, exchange: Exchange, number_bytes: int = FLOAT32_BYTES, *, measuring: bool = False
    ) -> "Ledger":
        """Return what one order and its reply cost, updates having so many bytes a number.

        Where the run is ``measuring`` the method, the method is not charged.
        """
        order, reply = exchange
        costs = order.costs(reply, number_bytes)
        if measuring:
            costs = {"evaluation": Cost(0, order.down_bytes, reply.up_bytes)}
        return cls({purpose: cost for purpose, cost in costs.items() if cost != Cost()})

    @classmethod
    def between_groups(cls, models: int) -> "Ledger":
        """Return what it costs that groups hand this many models to each other."""
        return cls({"inter-group": Cost(transfers=models)} if models else {})

    def __add__(self, other: "Ledger") -> "Ledger":
        costs = dict(self.costs)
        for purpose, cost in other.costs.items():
            costs[purpose] = costs.get(purpose, Cost()) + cost
        return Ledger(costs)

    @property
    def total(self) -> Cost:
        """What the method itself costs: evaluation, which only measures it, is left out."""
        costs = [cost for purpose, cost in self.costs.items() if purpose != "evaluation"]
        return sum(costs, Cost())
