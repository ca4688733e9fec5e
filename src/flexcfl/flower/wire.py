"""What goes to a node and what comes back, in bytes of arrays, before anything is sent."""

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from flexcfl.flower.records import REPLIES
from flexcfl.protocol import (
    FIGURE_BYTES,
    Evaluate,
    Ids,
    Order,
    Train,
)

__all__ = ["Share", "down_bytes", "trimmed", "up_bytes"]


@dataclass(frozen=True, eq=False)
class Share:
    """The part of an order that goes to one node.

    Of several models only those go that its clients use: ``used`` are their numbers in the whole
    order, and None where all go, or none.
    """

    order: Any
    used: Ids | None = None


def trimmed(order: Order[Any]) -> Share:
    """Return an order with those models alone that its clients use."""
    if not isinstance(order, Train | Evaluate) or isinstance(order.model_of, str):
        return Share(order)
    used, model_of = np.unique(order.model_of, return_inverse=True)
    if len(used) == len(order.models):
        return Share(order)
    fewer = replace(order, models=order.models[used], model_of=model_of.astype(np.int64))
    return Share(fewer, used)


def down_bytes(order: Order[Any]) -> int:
    """Return the bytes of the arrays that go to a node."""
    values = [getattr(order, each.name) for each in fields(order)]  # type: ignore[arg-type]
    return sum(value.nbytes for value in values if isinstance(value, np.ndarray))


def up_bytes(order: Any, answering: int, updates: str) -> int:
    """Return the bytes of the arrays that come back if so many clients, or rows, answer."""
    sizes = {"drifted": np.dtype(np.bool_).itemsize}
    if isinstance(order, Train):
        sizes["updates"] = order.models.shape[1] * np.dtype(updates).itemsize
    names = [each.name for each in fields(REPLIES[type(order)])]
    return answering * sum(sizes.get(name, FIGURE_BYTES) for name in names)
