"""Shifts in which two clients exchange all or part of their data, at once or gradually.

``SwapAll`` and ``SwapPart`` are those of Duan et al.: Flexible Clustered Federated Learning for
Client-Level Data Distribution Shift. IEEE TPDS 33, 2022, Section 5.3. ``Gradual`` and ``Recurring``
are drifts as in Gama, Žliobaitė, Bifet, Pechenizkiy, Bouchachia: A Survey on Concept Drift
Adaptation, ACM Computing Surveys 46, 2014: both distributions are mixed for a while, or an earlier
distribution returns.

The eligible clients are those that the round-robin tour has visited, with any algorithm. A client
in an unfinished exchange is in no other pair.
"""

from dataclasses import replace
from typing import ClassVar, NamedTuple

import numpy as np
from pydantic.dataclasses import dataclass as settings

from flexcfl.data.federation import Federation
from flexcfl.errors import SettingsError
from flexcfl.protocol import Flags, Ids
from flexcfl.shifts.holdings import Holdings, Moves, ranks
from flexcfl.shifts.shift import FORBID, Moment, Probability, Rounds

NO_LABEL = -1


@settings(frozen=True, config=FORBID)
class Pairing:
    """The common settings of shifts between two clients.

    In each round all eligible clients are paired at random, and each pair is chosen with
    ``probability``; the paper's is 0.05.
    """

    variants: ClassVar[bool] = False

    probability: Probability = 0.05

    def check(self, federation: Federation) -> None:
        """Refuse a federation of a single client, which has no partner."""
        if federation.clients < 2:
            raise SettingsError(
                f"Shifts between clients need at least two clients, and '{federation.name}' has "
                "only one: leave out shifts that exchange data, or take more clients."
            )

    def pairs(self, holdings: Holdings, moment: Moment) -> tuple[Ids, Ids]:
        """Return the chosen pairs; if the number of clients is odd, one is left out."""
        eligible = np.setdiff1d(moment.visited, holdings.busy, assume_unique=True)
        order = moment.rng.permutation(eligible)
        half = len(order) // 2
        # Drawn for every pair, so that a higher probability adds pairs and changes none.
        chosen = moment.rng.random(half) < self.probability
        return order[:half][chosen], order[half : 2 * half][chosen]

    def apply(self, holdings: Holdings, moment: Moment) -> Holdings:
        """Let the pairs of this round exchange data."""
        ones, others = self.pairs(holdings, moment)
        if len(ones) == 0:
            return holdings
        clients, partner = np.concatenate([ones, others]), np.concatenate([others, ones])
        slots, position = holdings.slots_of(clients)
        paired = Paired(len(clients), slots, position, clients[position], partner[position])
        return self.exchanged(holdings, moment, paired)

    def exchanged(self, holdings: Holdings, moment: Moment, paired: "Paired") -> Holdings:
        """Return the holdings after the paired clients have exchanged data, or begun to."""
        raise NotImplementedError


class Paired(NamedTuple):
    """The slots of all clients in a pair, with the owner, the giver and the taker of each.

    ``clients`` is the number of these clients. ``position`` is the owner's position among them:
    first comes one client of each pair, then the partners in the same order.
    """

    clients: int
    slots: Ids
    position: Ids
    giver: Ids
    taker: Ids


@settings(frozen=True, config=FORBID)
class SwapAll(Pairing):
    """Pairs of clients exchange all their data, training and test.

    In each round all eligible clients are paired at random, and each pair exchanges with
    ``probability``; the paper's is 0.05.
    """

    def exchanged(self, holdings: Holdings, moment: Moment, paired: Paired) -> Holdings:
        """Let the pairs of this round exchange everything."""
        return holdings.moved(paired.slots, paired.giver, paired.taker)


@settings(frozen=True, config=FORBID)
class SwapPart(Pairing):
    """Pairs of clients exchange one label each, all its training and test examples.

    In each round all eligible clients are paired at random, and each pair exchanges with
    ``probability``; the paper's is 0.05. Each gives a label of which it has training examples and
    the other has none, drawn from all such labels. If one of them has no such label, the pair
    exchanges nothing.
    """

    def exchanged(self, holdings: Holdings, moment: Moment, paired: Paired) -> Holdings:
        """Let the pairs of this round exchange a label each, if both have one to give."""
        labels = moment.y[holdings.examples(paired.slots)]
        has = np.zeros((paired.clients, moment.classes), dtype=np.bool_)
        training = paired.slots < len(holdings.train)
        has[paired.position[training], labels[training]] = True
        gives = _label_to_give(has, moment.rng)[paired.position] == labels
        return holdings.moved(paired.slots[gives], paired.giver[gives], paired.taker[gives])


@settings(frozen=True, config=FORBID)
class Gradual(Pairing):
    """Pairs of clients exchange all their data, training and test, over several rounds.

    In each round all eligible clients are paired at random, and each pair begins to exchange with
    ``probability``. Over ``duration`` rounds, including the first, parts of nearly equal size move,
    in random order. Until all data have moved, the two clients are in no other pair.
    """

    duration: Rounds = 20

    def exchanged(self, holdings: Holdings, moment: Moment, paired: Paired) -> Holdings:
        """Let the pairs of this round begin; the first part is due at once."""
        # Training and test slots separately, so that equal parts of both move.
        tests = np.searchsorted(paired.slots, len(holdings.train))
        halves = np.split(paired.position, [tests])
        after = np.concatenate([self._rounds_until(half, moment) for half in halves])
        moves = Moves(moment.number + after, paired.slots, paired.taker)
        return replace(holdings, pending=holdings.pending + moves)

    def _rounds_until(self, owner: Ids, moment: Moment) -> Ids:
        """Return after how many rounds each slot moves, given the owners of the slots.

        After part ``j`` of ``duration`` a client has given the fraction ``j / duration`` of its
        slots, rounded down. So it keeps at least one slot until the last part.
        """
        rank = ranks(owner, moment.rng.random(len(owner)))
        sizes = np.bincount(owner)[owner]
        return -(-(rank + 1) * self.duration // sizes) - 1


@settings(frozen=True, config=FORBID)
class Recurring(Pairing):
    """Pairs of clients exchange all their data, training and test, and later exchange it back.

    In each round all eligible clients are paired at random, and each pair exchanges with
    ``probability``. It exchanges everything back ``period`` rounds later; until then the two
    clients are in no other pair.
    """

    period: Rounds = 20

    def exchanged(self, holdings: Holdings, moment: Moment, paired: Paired) -> Holdings:
        """Let the pairs of this round exchange everything, and schedule the way back."""
        slots, giver = paired.slots, paired.giver
        back = Moves(np.full(len(slots), moment.number + self.period), slots, giver)
        return holdings.moved(slots, giver, paired.taker, pending=holdings.pending + back)


def _label_to_give(has: Flags, rng: np.random.Generator) -> Ids:
    """Return for each member of a pair the label that it gives away, or ``NO_LABEL``.

    ``has`` flags for each client, in the order of ``Paired``, the labels of which it has training
    examples.
    """
    one, other = np.split(has, 2)
    candidates = np.concatenate([one & ~other, other & ~one])
    chance = np.where(candidates, rng.random(candidates.shape), -1.0)
    both = np.tile((one & ~other).any(axis=1) & (other & ~one).any(axis=1), 2)
    return np.where(both, chance.argmax(axis=1), NO_LABEL)
