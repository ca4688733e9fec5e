"""Communication costs by purpose, in model transfers (as the paper counts them) and in bytes.

Duan et al.: Flexible Clustered Federated Learning for Client-Level Data Distribution Shift. IEEE
TPDS 2022, Section 5.3 and its figure on communication. The paper counts one transfer for every
model or direction that goes to a client or comes back. It does not count the common origin that
newcomers receive, figures and verdicts; groups that share send one model each. Models that an
algorithm lets clients evaluate are charged to it as ``query``; ``evaluation`` only measures the
method and is not charged. Bytes count everything that orders send and bring back. Each order
defines its own costs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import get_args

from flexcfl.protocol import FLOAT32_BYTES, Charge, Cost, Exchange

PURPOSES: tuple[Charge, ...] = get_args(Charge)


@dataclass(frozen=True)
class Ledger:
    """Costs by purpose; a purpose that is not listed cost nothing.

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
        """Return the costs of one order and its reply; updates have ``number_bytes`` per number.

        With ``measuring``, the costs are those of evaluation, and the method is not charged.
        """
        order, reply = exchange
        costs = order.costs(reply, number_bytes)
        if measuring:
            costs = {"evaluation": Cost(0, order.down_bytes, reply.up_bytes)}
        return cls({purpose: cost for purpose, cost in costs.items() if cost != Cost()})

    @classmethod
    def between_groups(cls, models: int) -> "Ledger":
        """Return the costs of this many models sent between groups."""
        return cls({"inter-group": Cost(transfers=models)} if models else {})

    def __add__(self, other: "Ledger") -> "Ledger":
        costs = dict(self.costs)
        for purpose, cost in other.costs.items():
            costs[purpose] = costs.get(purpose, Cost()) + cost
        return Ledger(costs)

    @property
    def total(self) -> Cost:
        """The costs of the method itself, without evaluation."""
        costs = [cost for purpose, cost in self.costs.items() if purpose != "evaluation"]
        return sum(costs, Cost())
