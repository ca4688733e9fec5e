"""What goes to a node and what comes back, in bytes of arrays, before anything is sent."""

from dataclasses import dataclass, fields, replace
from math import prod
from typing import Any

import numpy as np

from flexcfl.protocol import Ids, Order

__all__ = ["Share", "down_bytes", "trimmed", "up_bytes"]


@dataclass(frozen=True, eq=False)
class Share:
    """The part of an order that goes to one node.

    Of several models only those go that its clients use: ``used`` are their numbers in the whole
    order, and None where all go, or none.
    """

    order: Any
    used: Ids | None = None


def trimmed(order: Any) -> Share:
    """Return an order with those models alone that its clients use."""
    given = getattr(order, "model_of", None)
    if not isinstance(given, np.ndarray):
        return Share(order)
    used, model_of = np.unique(given, return_inverse=True)
    if len(used) == len(order.models):
        return Share(order)
    fewer = replace(order, models=order.models[used], model_of=model_of.astype(np.int64))
    return Share(fewer, used)


def down_bytes(order: Order[Any]) -> int:
    """Return the bytes of the arrays that go to a node."""
    values = [getattr(order, each.name) for each in fields(order)]
    return sum(value.nbytes for value in values if isinstance(value, np.ndarray))


def up_bytes(order: Order[Any], answering: int, updates: str) -> int:
    """Return the bytes of the arrays that come back if so many clients, or rows, answer."""
    columns = vars(order.empty())
    if order.brings_updates:
        columns = {**columns, "updates": columns["updates"].astype(updates)}
    return answering * int(sum(each.itemsize * prod(each.shape[1:]) for each in columns.values()))
