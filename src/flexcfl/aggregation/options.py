"""What the options of all rules are made of."""

from math import ceil
from typing import Annotated, TypeAlias

from pydantic import ConfigDict, Field

__all__ = ["FORBID", "Share", "count"]

FORBID = ConfigDict(extra="forbid")

Share: TypeAlias = Annotated[float, Field(ge=0, lt=0.5)]


def count(share: float, rows: int) -> int:
    """Return how many of so many rows a share is, rounded up.

    A small group that was drawn at random may well hold more hostile clients than their share, so
    that a part of a row counts as one.

    >>> count(0.2, 4), count(0.2, 5), count(0.07, 100)
    (1, 1, 7)
    """
    return ceil(share * rows - 1e-9)  # 0.07 of 100 is a trace more than 7 in floating point
