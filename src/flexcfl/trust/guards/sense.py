"""What answers say, where it makes sense as an answer to the order."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexcfl.protocol import NO_GROUP, Flags, Order
from flexcfl.trust.guards.columns import integers, reals
from flexcfl.trust.guards.review import Review

__all__ = ["Readings", "finite", "readings"]

Readings: TypeAlias = dict[str, NDArray[Any]]

CHOICES = ("model_of", "group_of")  # columns in which clients name what they train, or choose
LARGEST = float(np.finfo(np.float32).max)  # a loss beyond it would make means infinite
MOST_EXAMPLES = 2**40  # of a million clients with so many the sum is still a 64-bit number


def readings(order: Order[Any], reply: Any, review: Review) -> Readings:
    """Return all that a reply says but its updates, and refuse whose answer makes no sense."""
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
    """Return whose answer came to something.

    Figures are not beyond what float32 can hold, but for those that were measured. A client that
    was to choose has named a group or a model, but where it may name none.
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
