"""A pool of which everybody's examples are known, divided into training and test examples."""

import warnings
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic.dataclasses import dataclass

from flexcfl.data.federation import Federation, IndexLists
from flexcfl.data.options import FORBID, Seed, Share
from flexcfl.data.partition import by_owner, split
from flexcfl.errors import DataWarning
from flexcfl.seeds import generator

__all__ = ["MOST_CLASSES", "Division", "classes_of", "drawn", "names_of", "pooled"]

Flags: TypeAlias = NDArray[np.bool_]
Indices: TypeAlias = NDArray[np.int64]

# A larger label is a mistake; as a number of classes it would ask for memory without end.
MOST_CLASSES = 1_000_000
# More classes than half of the examples are no classes; scikit-learn warns by the same measure.
FEW_EXAMPLES, MOST_SHARE = 20, 0.5


@dataclass(frozen=True, config=FORBID)
class Division:
    """How a client's examples are divided where nobody has done so: what share is to test with."""

    test_share: Share = 0.2
    seed: Seed = 0


def drawn(client_of: Indices, division: Division, among: Flags | None = None) -> Flags:
    """Say which examples of a pool are to test with, drawn for all clients or for some."""
    lists = by_owner(client_of)
    chosen = lists if among is None else [lists[client] for client in np.flatnonzero(among)]
    flags = np.zeros(len(client_of), dtype=np.bool_)
    _, test = split(chosen, division.test_share, generator(division.seed, "split"))
    flags[test.indices] = True
    return flags


def pooled(
    name: str,
    x: NDArray[Any],
    y: NDArray[Any],
    client_of: Indices,
    test: Flags,
    *,
    classes: int | None,
    names: tuple[str, ...],
) -> Federation:
    """Return the federation of a pool; ``test`` says which examples are to test with."""
    order, clients = np.argsort(client_of, kind="stable"), int(client_of.max()) + 1

    def lists(chosen: Flags) -> IndexLists:
        sizes = np.bincount(client_of[chosen], minlength=clients)
        return IndexLists(order[chosen[order]], np.concatenate([[0], np.cumsum(sizes)]))

    return Federation(
        name, x, y, lists(~test), lists(test), classes_of(name, y, classes), names=names
    )


def classes_of(name: str, y: NDArray[Any], classes: int | None) -> int:
    """Return a number of classes: where none is given, labels begin at 0 and end at the largest.

    It is warned of a number that looks as if labels were quantities.
    """
    if classes is not None:
        return classes
    number = min(max(int(y.max()) + 1, 1), MOST_CLASSES)
    if y.size > FEW_EXAMPLES and number > MOST_SHARE * y.size:
        sentence = (
            f"'{name}' has labels up to {number - 1} on {y.size} examples, which makes {number} "
            "classes: flexcfl classifies and has no regression for quantities, and if these are "
            "classes, number them from 0 without gaps (np.unique(y, return_inverse=True)[1])."
        )
        warnings.warn(DataWarning(sentence), stacklevel=2)
    return number


def names_of(clients: Sequence[Any]) -> tuple[str, ...]:
    """Return what clients are called, which is nothing where they are numbered from 0.

    >>> names_of(["ann", "bob"]), names_of([7, 9]), names_of([0, 1])
    (('ann', 'bob'), ('7', '9'), ())
    """
    numbered = list(clients) == list(range(len(clients)))
    return () if numbered else tuple(map(str, clients))
