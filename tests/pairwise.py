"""Few combinations of values in which any two values of different lists still meet."""

from collections.abc import Iterable, Sequence
from itertools import combinations, product
from typing import Any

__all__ = ["pairs", "pairwise"]


def pairwise(*lists: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return combinations, one value of each list, that hold every pair of values of two lists.

    The next one is always the first of those that hold most of the pairs that are still missing.
    """
    rows = [(row, pairs(row)) for row in product(*map(range, map(len, lists)))]
    missing = {pair for _, held in rows for pair in held}
    chosen = []
    while missing:
        row, held = max(rows, key=lambda each: len(each[1] & missing))
        missing -= held
        chosen.append(row)
    return [tuple(values[at] for values, at in zip(lists, row, strict=True)) for row in chosen]


def pairs(row: Iterable[Any]) -> set[Any]:
    """Return the pairs of values in a combination, each value with its position."""
    return set(combinations(enumerate(row), 2))
