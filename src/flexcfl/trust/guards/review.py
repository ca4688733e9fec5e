"""Which answers stand, what these say, and the one reason why each of the others does not."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexcfl.protocol import NO_GROUP, Flags, Ids, Order, Received
from flexcfl.trust.guards.columns import integers, reals

__all__ = ["REASONS", "Readings", "Review", "finite", "read_columns"]

Readings: TypeAlias = dict[str, NDArray[Any]]

REASONS = ("late", "stale", "invalid", "shape", "not_finite", "norm", "founding")
"""Why an answer is turned away, in the order in which the reasons are looked for."""
STANDS = -1
NOT_ASKED = -1  # a place
NOBODY = -1  # a client
CHOICES = ("model_of", "group_of")  # columns in which clients name what they train, or choose
LARGEST = float(np.finfo(np.float32).max)  # a loss beyond it would make means infinite
MOST_EXAMPLES = 2**40  # of a million clients with so many the sum is still a 64-bit number


@dataclass(eq=False)
class Review:
    """Where in the order the client of each answer was asked, and why the answer is refused."""

    clients: Ids
    places: Ids
    why: NDArray[np.int8]

    @classmethod
    def of(cls, order: Order[Any], received: Received, number: int) -> "Review":
        """Review which clients answered, and the orders of which round."""
        clients, _ = integers(received.reply.clients)  # what is no number is no client asked
        stale = np.zeros(len(clients), dtype=np.bool_)
        if received.rounds is not None:
            stale = integers(received.rounds)[0] != number
        places = _places(order.clients, np.where(stale, NOBODY, clients))
        review = cls(clients, places, np.full(len(clients), STANDS, dtype=np.int8))
        review.refuse(stale, "stale")
        review.refuse(places == NOT_ASKED, "invalid")
        return review

    def silent(self, asked: Ids) -> Ids:
        """Return the clients that did not answer at all."""
        if np.array_equal(asked, self.clients):
            return asked[:0]
        return np.unique(asked[~np.isin(asked, self.clients)])

    @property
    def stands(self) -> Flags:
        """Which answers are not refused."""
        return np.asarray(self.why == STANDS)

    def refuse(self, wrong: Flags, reason: str) -> None:
        """Refuse answers, unless they were refused before for another reason."""
        if wrong.any():
            self.why[wrong & self.stands] = REASONS.index(reason)

    def refuse_parts(self, asked: Ids) -> None:
        """Refuse the answers of clients that did not answer everything that they were asked."""
        open_ = np.ones(len(asked), dtype=np.bool_)
        open_[self.places[self.stands]] = False
        self.refuse(np.isin(self.clients, asked[open_]), "invalid")

    def rows(self) -> Ids:
        """Return the answers that stand, in the order asked."""
        rows = np.flatnonzero(self.stands)
        places = self.places[rows]
        ordered = (places[1:] > places[:-1]).all()
        return rows if ordered else rows[np.argsort(places, kind="stable")]

    def rejected(self, late: int) -> dict[str, int]:
        """Return how many answers were refused, by reason; late ones are only counted."""
        counts = np.bincount(self.why + 1, minlength=len(REASONS) + 1)[1:]
        counts[REASONS.index("late")] = late
        return {why: int(count) for why, count in zip(REASONS, counts, strict=True) if count}


def _places(asked: Ids, clients: Ids) -> Ids:
    """Return the place in ``asked`` of each answer: a client's first answer is for its first place.

    Answers of clients that were not asked, or not as often, have none.
    """
    if np.array_equal(clients, asked):
        return np.arange(len(asked))
    by_client = np.argsort(asked, kind="stable")
    places = np.searchsorted(asked[by_client], clients) + _repetition(clients)
    found = np.append(by_client, NOT_ASKED)[np.minimum(places, len(asked))]
    return np.where(np.append(asked, NOBODY)[found] == clients, found, NOT_ASKED)


def _repetition(clients: Ids) -> Ids:
    """Return for each place how often its client occurs before."""
    by_client = np.argsort(clients, kind="stable")
    ordered, repetition = clients[by_client], np.empty_like(clients)
    repetition[by_client] = np.arange(len(clients)) - np.searchsorted(ordered, ordered)
    return repetition


def read_columns(order: Order[Any], reply: Any, review: Review) -> Readings:
    """Return all columns of a reply but its updates, and refuse answers that make no sense."""
    columns: Readings = {"clients": review.clients}
    for name, like in vars(order.empty()).items():
        sent = getattr(reply, name)
        if len(sent) != len(review.clients):  # which is the executor's doing, and no client's
            raise ValueError(f"{len(review.clients)} clients answered, with {len(sent)} {name}")
        if like.dtype == np.float64:
            columns[name] = reals(sent)
        elif name not in ("clients", "updates"):
            columns[name] = _whole(order, name, like.dtype, sent, review)
    if "hits" in columns:
        review.refuse(columns["hits"] > columns["examples"], "invalid")
    if order.measures:
        review.refuse_parts(order.clients)
    return columns


def finite(order: Order[Any], columns: Readings) -> Flags:
    """Return which answers are finite and, if the client was to choose a model or group, have one.

    Figures must be within float32, unless they were only measured.
    """
    zeros = np.zeros(len(columns["clients"]))
    chosen = columns.get("model_of", columns.get("group_of", zeros))
    fine = (chosen != NO_GROUP) | order.may_name_none
    for figures in columns.values():
        if figures.dtype == np.float64 and not order.measures:
            fine &= np.abs(figures) <= LARGEST
    return np.asarray(fine)


def _whole(order: Any, name: str, dtype: np.dtype[Any], sent: Any, review: Review) -> NDArray[Any]:
    flags = dtype == np.bool_
    if flags and getattr(sent, "dtype", None) == dtype and sent.ndim == 1:
        return np.asarray(sent)  # as it is: yes or no is all that these can say
    values, known = integers(sent)
    if name not in CHOICES:
        known &= (values >= 0) & (values <= (1 if flags else MOST_EXAMPLES))
    elif order.choices is None:
        known &= values == np.append(order.model_of, -1)[review.places]
    else:
        known &= (values >= NO_GROUP) & (values < order.choices)
    review.refuse(~known, "invalid")
    return values.astype(dtype, copy=False)
