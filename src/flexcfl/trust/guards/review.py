"""Review of a reply: which answers stand, and the reason why each other one is refused."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexcfl.protocol import NO_GROUP, Flags, Ids, Order, Received
from flexcfl.trust.guards.columns import integers, reals

Readings: TypeAlias = dict[str, NDArray[Any]]

REASONS = ("late", "stale", "invalid", "shape", "not_finite", "norm", "founding")
"""The reasons why an answer is rejected, in the order in which they are checked."""
STANDS = -1
NOT_ASKED = -1  # a position
NOBODY = -1  # a client
CHOICES = ("model_of", "group_of")  # columns with the model or group that clients train or choose
LARGEST = float(np.finfo(np.float32).max)  # a loss beyond it would make means infinite
MOST_EXAMPLES = 2**40  # the sum over a million such clients still fits 64 bits


@dataclass(eq=False)
class Review:
    """The position of each answer's client in the order, and why the answer is refused."""

    clients: Ids
    places: Ids
    why: NDArray[np.int8]

    @classmethod
    def of(cls, order: Order[Any], received: Received, number: int) -> "Review":
        """Review which clients answered, and for which round."""
        clients, _ = integers(received.reply.clients)  # -1, which no client has, if not a number
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
        """Refuse answers that were not already refused for another reason."""
        if wrong.any():
            self.why[wrong & self.stands] = REASONS.index(reason)

    def refuse_parts(self, asked: Ids) -> None:
        """Refuse the answers of clients that did not answer all their requests."""
        open_ = np.ones(len(asked), dtype=np.bool_)
        open_[self.places[self.stands]] = False
        self.refuse(np.isin(self.clients, asked[open_]), "invalid")

    def rows(self) -> Ids:
        """Return the rows of the answers that stand, in the order asked."""
        rows = np.flatnonzero(self.stands)
        places = self.places[rows]
        ordered = (places[1:] > places[:-1]).all()
        return rows if ordered else rows[np.argsort(places, kind="stable")]

    def rejected(self, late: int) -> dict[str, int]:
        """Return the number of refused answers by reason, including ``late`` ones."""
        counts = np.bincount(self.why + 1, minlength=len(REASONS) + 1)[1:]
        counts[REASONS.index("late")] = late
        return {why: int(count) for why, count in zip(REASONS, counts, strict=True) if count}


def _places(asked: Ids, clients: Ids) -> Ids:
    """Return the position in ``asked`` of each answer; a client's first answer gets its first one.

    Answers of clients that were not asked, or not as often, get ``NOT_ASKED``.
    """
    if np.array_equal(clients, asked):
        return np.arange(len(asked))
    by_client = np.argsort(asked, kind="stable")
    places = np.searchsorted(asked[by_client], clients) + _repetition(clients)
    found = np.append(by_client, NOT_ASKED)[np.minimum(places, len(asked))]
    return np.where(np.append(asked, NOBODY)[found] == clients, found, NOT_ASKED)


def _repetition(clients: Ids) -> Ids:
    """Return for each answer how many answers its client gave before."""
    by_client = np.argsort(clients, kind="stable")
    ordered, repetition = clients[by_client], np.empty_like(clients)
    repetition[by_client] = np.arange(len(clients)) - np.searchsorted(ordered, ordered)
    return repetition


def checked_columns(order: Order[Any], reply: Any, review: Review) -> Readings:
    """Return all columns of a reply except its updates, and refuse invalid answers."""
    columns: Readings = {"clients": review.clients}
    for name, like in vars(order.empty()).items():
        sent = getattr(reply, name)
        if len(sent) != len(review.clients):  # a mistake of the executor, not of a client
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
    """Return which answers are finite and, if the client had to choose a model or group, chose one.

    Numbers must be within float32, unless they were only measured.
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
        return np.asarray(sent)  # a flag is always valid
    values, known = integers(sent)
    if name not in CHOICES:
        known &= (values >= 0) & (values <= (1 if flags else MOST_EXAMPLES))
    elif order.choices is None:
        known &= values == np.append(order.model_of, -1)[review.places]
    else:
        known &= (values >= NO_GROUP) & (values < order.choices)
    review.refuse(~known, "invalid")
    return values.astype(dtype, copy=False)
