"""Runs in order: by any setting or figure, the best first, and those without it last."""

from collections.abc import Iterable, Sequence
from math import isnan
from typing import Any

from flexcfl.record.figures import FIGURES
from flexcfl.report.history.row import Row
from flexcfl.report.terminal.settings import plain

__all__ = ["by_time", "key_of", "ordered"]

OTHER_WAY = "-"  # before a key


def by_time(rows: Iterable[Row]) -> list[Row]:
    """Return runs with the newest first; those of one moment by their folders."""
    return sorted(rows, key=lambda row: (-row.when.timestamp(), str(row.folder)))


def key_of(order: str) -> str:
    """Return the key of an order, which may have a dash before it."""
    return order.removeprefix(OTHER_WAY)


def ordered(rows: Sequence[Row], key: str, reverse: bool = False) -> list[Row]:
    """Return runs by a key: figures with the best first, times with the newest, else ascending.

    With ``reverse``, or with ``-`` before the key, it is the other way round. Runs that have no
    such value stand last either way, and equal ones stay in the order in which they were.
    """
    other, name = key.startswith(OTHER_WAY), key_of(key)
    first_high = name == "when" or (name in FIGURES and FIGURES[name].high)
    having = [row for row in rows if _has(row.value(name))]
    lacking = [row for row in rows if not _has(row.value(name))]
    downward = first_high ^ other ^ reverse
    return [*sorted(having, key=lambda row: _rank(row.value(name)), reverse=downward), *lacking]


def _has(value: Any) -> bool:
    return value is not None and not (isinstance(value, float) and isnan(value))


def _rank(value: Any) -> tuple[int, Any]:
    """Return what values of any kind are compared by: numbers, then words, then all else."""
    if isinstance(value, int | float):
        return 0, value
    return (1, value) if isinstance(value, str) else (2, plain(value))
