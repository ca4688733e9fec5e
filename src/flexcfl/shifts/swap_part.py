"""Swap part: two random clients exchange one label that the other has not.

Duan et al.: Flexible Clustered Federated Learning for Client-Level Data Distribution Shift. IEEE
TPDS 33, 2022, Section 5.3.
"""

import numpy as np
from pydantic.dataclasses import dataclass as settings

from flexcfl.protocol import Flags, Ids
from flexcfl.shifts.holdings import Holdings
from flexcfl.shifts.options import FORBID
from flexcfl.shifts.pairs import Pairing
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

    def exchanged(self, holdings: Holdings, moment: Moment, clients: Ids, partner: Ids) -> Holdings:
        """Let the pairs of this round exchange a label each, where both have one to give."""
        slots, position = holdings.slots_of(clients)
        labels = moment.y[holdings.examples(slots)]
        has = np.zeros((len(clients), moment.classes), dtype=np.bool_)
        training = slots < len(holdings.train)
        has[position[training], labels[training]] = True
        gives = _given(has, moment.rng)[position] == labels
        slots, position = slots[gives], position[gives]
        return holdings.moved(slots, clients[position], partner[position])


def _given(has: Flags, rng: np.random.Generator) -> Ids:
    """Return for each member of a pair the label that it gives away, or ``NO_LABEL``.

    ``has`` tells for each of them, first all ones and then all others of the pairs, of which labels
    it has training examples.
    """
    one, other = np.split(has, 2)
    candidates = np.concatenate([one & ~other, other & ~one])
    chance = np.where(candidates, rng.random(candidates.shape), -1.0)
    both = np.tile((one & ~other).any(axis=1) & (other & ~one).any(axis=1), 2)
    return np.where(both, chance.argmax(axis=1), NO_LABEL)
