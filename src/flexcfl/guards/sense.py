"""What answers say, where it makes sense as an answer to the order."""

from dataclasses import fields
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexcfl.guards.columns import integers, reals
from flexcfl.guards.review import Review
from flexcfl.protocol import NO_GROUP, Choose, Flags, Migrate, Order, Place, Train

__all__ = ["Readings", "finite", "readings"]

Readings: TypeAlias = dict[str, NDArray[Any]]

LARGEST = float(np.finfo(np.float32).max)  # a loss beyond it would make means infinite
MOST_EXAMPLES = 2**40  # of a million clients with so many the sum is still a 64-bit number


def readings(order: Order[Any], reply: Any, review: Review) -> Readings:
    """Return all that a reply says but its updates, and refuse whose answer makes no sense."""
    columns: Readings = {"clients": review.clients}
    for name, sent in ((each.name, getattr(reply, each.name)) for each in fields(reply)):
        if len(sent) != len(review.clients):  # which is the executor's doing, and no client's
            raise ValueError(f"{len(review.clients)} clients answered, with {len(sent)} {name}")
        if name == "loss":
            columns[name] = reals(sent)
        elif name not in ("clients", "updates"):
            columns[name] = _whole(order, name, sent, review)
    return columns


def finite(order: Order[Any], columns: Readings) -> Flags:
    """Return whose training came to something.

    Losses are not beyond what float32 can hold, and a client that was to choose has named a group
    or a model. Only of those that migrate it may name none.
    """
    zeros = np.zeros(len(columns["clients"]))
    chosen = columns.get("model_of", columns.get("group_of", zeros))
    named = (chosen != NO_GROUP) | isinstance(order, Migrate)
    return np.asarray(named & (np.abs(columns.get("loss", zeros)) <= LARGEST))


def _whole(order: Order[Any], name: str, sent: Any, review: Review) -> NDArray[Any]:
    if name == "drifted" and getattr(sent, "dtype", None) == np.bool_ and sent.ndim == 1:
        return np.asarray(sent)  # as it is: yes or no is all that these can say
    values, known = integers(sent)
    if name == "examples":
        known &= (values >= 0) & (values <= MOST_EXAMPLES)
    elif name == "drifted":
        known &= (values == 0) | (values == 1)
    elif isinstance(order, Train) and not isinstance(order.model_of, str):
        known &= values == np.append(order.model_of, -1)[review.places]
    else:
        known &= (values >= NO_GROUP) & (values < _groups(order))
    review.refuse(~known, "invalid")
    return values.astype(np.bool_) if name == "drifted" else values


def _groups(order: Order[Any]) -> int:
    """Return among how many groups or models clients choose."""
    if isinstance(order, Migrate):
        return order.groups
    if isinstance(order, Place):
        return len(order.directions)
    if isinstance(order, Train | Choose):
        return len(order.models)
    raise TypeError(f"nobody chooses a group in answer to {type(order).__name__}")
