"""What comes back when nobody is there to answer."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from flexcfl.protocol import (
    CheckDrift,
    Checked,
    Choose,
    Chosen,
    Keep,
    Kept,
    Migrate,
    Order,
    Place,
    Placed,
    Settle,
    Train,
    Trained,
)

__all__ = ["silence"]

NOBODY, NOTHING = np.empty(0, dtype=np.int64), np.empty(0)

REPLIES: Mapping[type[Order[Any]], Callable[[Any], Any]] = MappingProxyType(
    {
        Train: lambda order: Trained(NOBODY, order.models[:0], NOBODY, NOTHING, NOBODY),
        Place: lambda order: Placed(NOBODY, NOBODY),
        Migrate: lambda order: Placed(NOBODY, NOBODY),
        Keep: lambda order: Kept(NOBODY),
        Settle: lambda order: Kept(NOBODY),
        Choose: lambda order: Chosen(NOBODY, NOBODY),
        CheckDrift: lambda order: Checked(NOBODY, np.empty(0, dtype=np.bool_)),
    }
)


def silence(order: Order[Any]) -> Any:
    """Return the reply to an order that reached nobody.

    An executor need not be asked: what it does on the way, such as to store what was to be sent,
    would be done for no one.
    """
    return REPLIES[type(order)](order)
