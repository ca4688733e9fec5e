"""Whose answers stand, and why the others do not: one reason for each."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexcfl.guards.columns import integers
from flexcfl.protocol import Flags, Ids, Order, Received

__all__ = ["REASONS", "Review"]

REASONS = ("late", "stale", "invalid", "shape", "not_finite", "norm", "founding")
"""Why an answer is turned away, in the order in which the reasons are looked for."""
STANDS = -1
NOT_ASKED = -1


@dataclass(eq=False)
class Review:
    """Of every answer: where in the order its client was asked, and why it is turned away."""

    clients: Ids
    places: Ids
    why: NDArray[np.int8]

    @classmethod
    def of(cls, order: Order[Any], received: Received, number: int) -> "Review":
        """Look at whose answers these are, and to which round's order."""
        clients, _ = integers(received.reply.clients)  # who is nobody was not asked
        why = np.full(len(clients), STANDS, dtype=np.int8)
        review = cls(clients, _places(order.clients, clients), why)  # type: ignore[attr-defined]
        if received.rounds is not None:
            review.refuse(integers(received.rounds)[0] != number, "stale")
        review.refuse(review.places == NOT_ASKED, "invalid")
        return review

    def silent(self, asked: Ids) -> Ids:
        """Return who did not answer at all."""
        if np.array_equal(asked, self.clients):
            return asked[:0]
        return np.unique(asked[~np.isin(asked, self.clients)])

    @property
    def stands(self) -> Flags:
        """Which answers no reason was found against."""
        return np.asarray(self.why == STANDS)

    def refuse(self, wrong: Flags, reason: str) -> None:
        """Turn answers away, but for those that were already for another reason."""
        if wrong.any():
            self.why[wrong & self.stands] = REASONS.index(reason)

    def refuse_repetitions(self) -> None:
        """Turn all but the first answer of each client away."""
        rows = np.flatnonzero(self.stands)
        places = self.places[rows]
        if _ascending(places):
            return
        repeated = self.stands
        repeated[rows[np.unique(places, return_index=True)[1]]] = False
        self.refuse(repeated, "invalid")

    def rows(self) -> Ids:
        """Return the answers that stand, in the order asked."""
        rows = np.flatnonzero(self.stands)
        places = self.places[rows]
        return rows if _ascending(places) else rows[np.argsort(places, kind="stable")]

    def rejected(self, late: int) -> dict[str, int]:
        """Return how many answers were turned away, by reason; who is late is not among them."""
        counts = np.bincount(self.why + 1, minlength=len(REASONS) + 1)[1:]
        counts[REASONS.index("late")] = late
        return {why: int(count) for why, count in zip(REASONS, counts, strict=True) if count}


def _places(asked: Ids, clients: Ids) -> Ids:
    """Return where each client stands among those asked."""
    if clients is asked or np.array_equal(clients, asked):
        return np.arange(len(asked))
    # One cell for every client up to the last one asked, and one more for all strangers.
    place_of = np.full(asked.max(initial=-1) + 2, NOT_ASKED, dtype=np.int64)
    place_of[asked] = np.arange(len(asked))
    stranger = (clients < 0) | (clients >= len(place_of))
    return np.asarray(place_of[np.where(stranger, -1, clients)])


def _ascending(places: Ids) -> bool:
    return bool((places[1:] > places[:-1]).all())
