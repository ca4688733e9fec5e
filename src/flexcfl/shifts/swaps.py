"""Shifts between two clients, which exchange all their data or part of it, at once or bit by bit.

``SwapAll`` and ``SwapPart`` are those of Duan et al.: Flexible Clustered Federated Learning for
Client-Level Data Distribution Shift. IEEE TPDS 33, 2022, Section 5.3. ``Gradual`` and ``Recurring``
are drifts as in Gama, Žliobaitė, Bifet, Pechenizkiy, Bouchachia: A Survey on Concept Drift
Adaptation, ACM Computing Surveys 46, 2014: for a while both distributions are mixed, and what was
seen before returns.

The eligible clients are those that the round-robin tour has visited, whatever the algorithm. Those
in the middle of an exchange are in no other pair.
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

__all__ = ["Gradual", "Pairing", "Recurring", "SwapAll", "SwapPart"]

NO_LABEL = -1


@settings(frozen=True, config=FORBID)
class Pairing:
    """What shifts between two clients have in common.

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
        """Return the pairs that are chosen; of an odd number one client is left out."""
        eligible = np.setdiff1d(moment.visited, holdings.busy, assume_unique=True)
        order = moment.rng.permutation(eligible)
        half = len(order) // 2
        # Drawn for every pair, so that a higher probability adds pairs and changes none.
        chosen = moment.rng.random(half) < self.probability
        return order[:half][chosen], order[half : 2 * half][chosen]

    def apply(self, holdings: Holdings, moment: Moment) -> Holdings:
        """Let the pairs of this round exchange what they are to."""
        ones, others = self.pairs(holdings, moment)
        if len(ones) == 0:
            return holdings
        clients, partner = np.concatenate([ones, others]), np.concatenate([others, ones])
        slots, position = holdings.slots_of(clients)
        paired = Paired(len(clients), slots, position, clients[position], partner[position])
        return self.exchanged(holdings, moment, paired)

    def exchanged(self, holdings: Holdings, moment: Moment, paired: "Paired") -> Holdings:
        """Return what clients have once those in pairs have exchanged it, or begun to."""
        raise NotImplementedError


class Paired(NamedTuple):
    """The slots of all ``clients`` that are in a pair: of which each is, who gives and takes it.

    Of which is told by position: first come one client of each pair, then all the others.
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
    the other none, drawn among all such labels; a pair in which one has no such label stays as it
    is.
    """

    def exchanged(self, holdings: Holdings, moment: Moment, paired: Paired) -> Holdings:
        """Let the pairs of this round exchange a label each, where both have one to give."""
        labels = moment.y[holdings.examples(paired.slots)]
        has = np.zeros((paired.clients, moment.classes), dtype=np.bool_)
        training = paired.slots < len(holdings.train)
        has[paired.position[training], labels[training]] = True
        gives = _given(has, moment.rng)[paired.position] == labels
        return holdings.moved(paired.slots[gives], paired.giver[gives], paired.taker[gives])


@settings(frozen=True, config=FORBID)
class Gradual(Pairing):
    """Pairs of clients exchange all their data, training and test, over several rounds.

    In each round all eligible clients are paired at random, and each pair begins to exchange with
    ``probability``. Over ``duration`` rounds, the first included, parts as equal as can be move, in
    random order. Until all has moved the two are in no other pair.
    """

    duration: Rounds = 20

    def exchanged(self, holdings: Holdings, moment: Moment, paired: Paired) -> Holdings:
        """Let the pairs of this round begin; the first part is due at once."""
        # Training and test slots apart, so that of both equal parts move.
        tests = np.searchsorted(paired.slots, len(holdings.train))
        halves = np.split(paired.position, [tests])
        after = np.concatenate([self._rounds_until(half, moment) for half in halves])
        moves = Moves(moment.number + after, paired.slots, paired.taker)
        return replace(holdings, pending=holdings.pending + moves)

    def _rounds_until(self, owner: Ids, moment: Moment) -> Ids:
        """Return in how many rounds each slot, of which the owner is told, moves.

        After part ``j`` of ``duration`` a client has given the fraction ``j / duration`` of its
        slots, rounded down: so it keeps one until the last part, which brings what it gets at last.
        """
        place = ranks(owner, moment.rng.random(len(owner)))
        sizes = np.bincount(owner)[owner]
        return -(-(place + 1) * self.duration // sizes) - 1


@settings(frozen=True, config=FORBID)
class Recurring(Pairing):
    """Pairs of clients exchange all their data, training and test, and later exchange it back.

    In each round all eligible clients are paired at random, and each pair exchanges with
    ``probability``. It exchanges everything back ``period`` rounds later; until then the two are in
    no other pair.
    """

    period: Rounds = 20

    def exchanged(self, holdings: Holdings, moment: Moment, paired: Paired) -> Holdings:
        """Let the pairs of this round exchange everything, and note down the way back."""
        slots, giver = paired.slots, paired.giver
        back = Moves(np.full(len(slots), moment.number + self.period), slots, giver)
        return holdings.moved(slots, giver, paired.taker, pending=holdings.pending + back)


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
