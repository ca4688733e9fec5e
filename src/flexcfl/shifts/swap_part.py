"""Swap part: two random clients exchange one label that the other has not.

Duan et al.: Flexible Clustered Federated Learning for Client-Level Data Distribution Shift. IEEE
TPDS 33, 2022, Section 5.3.
"""

import numpy as np
from numpy.typing import NDArray
from pydantic.dataclasses import dataclass as settings

from flexcfl.protocol import Flags, Ids
from flexcfl.shifts.holdings import Holdings
from flexcfl.shifts.options import FORBID
from flexcfl.shifts.pairs import Pairing, partners
from flexcfl.shifts.shift import Moment

__all__ = ["SwapPart"]

NO_LABEL = -1


@settings(frozen=True, config=FORBID)
class SwapPart(Pairing):
    """Pairs of clients exchange one label each, all its training and test examples.

    In each round all eligible clients are paired at random, and each pair exchanges with
    ``probability``; the paper's is 0.05. Each gives a label of which it has training examples and
    the other none, drawn among all such labels; a pair in which one has no such label stays as it
    is.
    """

    def apply(self, holdings: Holdings, moment: Moment) -> Holdings:
        """Let the pairs of this round exchange a label each, where both have one to give."""
        ones, others = self.pairs(holdings, moment)
        if len(ones) == 0:
            return holdings
        partner = partners(ones, others, moment.clients)
        gives = _given_labels(ones, others, holdings, moment)
        labels = np.concatenate([moment.train_labels, moment.test_labels])
        owner = holdings.owner
        return holdings.owned(np.where(gives[owner] == labels, partner[owner], owner))


def _given_labels(ones: Ids, others: Ids, holdings: Holdings, moment: Moment) -> Ids:
    """Return for every client the label that it gives away, or ``NO_LABEL``."""
    members = np.concatenate([ones, others])
    one, other = np.split(_has_label(members, holdings, moment), 2)
    candidates = np.concatenate([one & ~other, other & ~one])
    chance = np.where(candidates, moment.rng.random(candidates.shape), -1.0)
    both = np.tile((one & ~other).any(axis=1) & (other & ~one).any(axis=1), 2)
    gives = np.full(moment.clients, NO_LABEL, dtype=np.int64)
    gives[members] = np.where(both, chance.argmax(axis=1), NO_LABEL)
    return gives


def _has_label(members: Ids, holdings: Holdings, moment: Moment) -> Flags:
    """Return for each member and label whether the member has training examples of it."""
    member_of: NDArray[np.int64] = np.full(moment.clients, -1, dtype=np.int64)
    member_of[members] = np.arange(len(members))
    member = member_of[holdings.train_owner]
    has = np.zeros((len(members), moment.classes), dtype=np.bool_)
    has[member[member >= 0], moment.train_labels[member >= 0]] = True
    return has
