"""A federation put together from what single clients have, divided to train and to test."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic.dataclasses import dataclass

from flexcfl.data.client_lists import IndexLists, offsets_of
from flexcfl.data.federation import Federation
from flexcfl.data.federation_checks import strange_label
from flexcfl.data.options import FORBID, Seed, Share
from flexcfl.data.partition import Indices, by_owner, split
from flexcfl.data.user_data import Holding, checked
from flexcfl.errors import DataError, DataWarning
from flexcfl.seeds import generator

__all__ = [
    "MOST_CLASSES",
    "Division",
    "client_names",
    "drawn_to_test",
    "federation_of_clients",
    "federation_of_pool",
    "number_of_classes",
]

Flags: TypeAlias = NDArray[np.bool_]

# A larger label is a mistake; as a number of classes it would ask for memory without end.
MOST_CLASSES = 1_000_000
# More classes than half of the examples are no classes; scikit-learn warns by the same measure.
FEW_EXAMPLES, MOST_SHARE = 20, 0.5


@dataclass(frozen=True, config=FORBID)
class Division:
    """The share of a client's examples to test with, and the seed by which they are drawn."""

    test_share: Share = 0.2
    seed: Seed = 0


def drawn_to_test(client_of: Indices, division: Division, among: Flags | None = None) -> Flags:
    """Return which examples of a pool are to test with, drawn for all clients or for some."""
    lists = by_owner(client_of)
    chosen = lists if among is None else [lists[client] for client in np.flatnonzero(among)]
    flags = np.zeros(len(client_of), dtype=np.bool_)
    _, test = split(chosen, division.test_share, generator(division.seed, "split"))
    flags[test.indices] = True
    return flags


def federation_of_pool(
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
        return IndexLists(order[chosen[order]], offsets_of(sizes))

    return Federation(
        name, x, y, lists(~test), lists(test), number_of_classes(name, y, classes), names=names
    )


def number_of_classes(name: str, y: NDArray[Any], classes: int | None) -> int:
    """Return a number of classes: where none is given, labels begin at 0 and end at the largest.

    A number that looks as if labels were quantities gives a warning.
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


def client_names(clients: Sequence[Any]) -> tuple[str, ...]:
    """Return what clients are called, which is nothing where they are numbered from 0.

    >>> client_names(["ann", "bob"]), client_names([7, 9]), client_names([0, 1])
    (('ann', 'bob'), ('7', '9'), ())
    """
    numbered = list(clients) == list(range(len(clients)))
    return () if numbered else tuple(map(str, clients))


class _Part(NamedTuple):
    """What a client has to train with, or to test with."""

    client: int
    test: bool
    where: str
    x: NDArray[np.float32]
    y: NDArray[np.int64]


def federation_of_clients(
    name: str, holdings: Mapping[Any, Holding], division: Division, classes: int | None
) -> Federation:
    """Return the federation of clients, which are given by their names and stay in order."""
    held = enumerate(holdings.values())
    parts = [part for client, holding in held for part in _parts(client, holding)]
    _demand_one_shape(parts)
    _demand_known_labels(parts, classes)
    sizes = [len(part.y) for part in parts]
    client_of = np.repeat([part.client for part in parts], sizes)
    test = np.repeat([part.test for part in parts], sizes)
    whole = np.array([holding.whole for holding in holdings.values()])
    if whole.any():
        test |= drawn_to_test(client_of, division, whole)
    x = np.concatenate([part.x for part in parts if len(part.y)])
    y = np.concatenate([part.y for part in parts])
    return federation_of_pool(
        name, x, y, client_of, test, classes=classes, names=client_names(list(holdings))
    )


def _parts(client: int, holding: Holding) -> Iterator[_Part]:
    train = _Part(client, False, holding.train.where, *checked(holding.train))
    if not len(train.y):
        raise DataError(f"{train.where} has no training example: a client needs one.")
    yield train
    if holding.test is not None:
        yield _Part(client, True, holding.test.where, *checked(holding.test))


def _demand_one_shape(parts: Sequence[_Part]) -> None:
    first, shape = parts[0].where, parts[0].x.shape[1:]
    for part in parts:
        if len(part.y) and part.x.shape[1:] != shape:
            raise DataError(
                f"{part.where} has examples of shape {part.x.shape[1:]}, and "
                f"{first[:1].lower()}{first[1:]} of {shape}: bring all examples to one shape."
            )


def _demand_known_labels(parts: Sequence[_Part], classes: int | None) -> None:
    known = MOST_CLASSES if classes is None else classes
    for part in parts:
        if len(part.y) and not 0 <= part.y.min() <= part.y.max() < known:
            odd = part.y[(part.y < 0) | (part.y >= known)][0]
            raise strange_label(part.where, odd, known)
