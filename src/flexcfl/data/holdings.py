"""What single clients hold, each in arrays of its own, checked and put together."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexcfl.data.division import MOST_CLASSES, Division, drawn, names_of, pooled
from flexcfl.data.examples import NUMERIC
from flexcfl.data.federation import Federation
from flexcfl.data.soundness import strange_label
from flexcfl.errors import DataError

__all__ = ["Examples", "Holding", "Pair", "checked", "gathered"]

Pair: TypeAlias = tuple[NDArray[np.float32], NDArray[np.int64]]


@dataclass(frozen=True, eq=False)
class Examples:
    """Examples and labels as they were found, before anybody has looked at them.

    ``where`` is how a sentence on them begins, such as a file in quotation marks.
    """

    where: str
    x: NDArray[Any]
    y: NDArray[Any]


@dataclass(frozen=True, eq=False)
class Holding:
    """The data of one client; there may be none to test with.

    ``whole`` says that nobody has divided them yet: those to test with are among ``train``.
    """

    train: Examples
    test: Examples | None = None
    whole: bool = False


def checked(examples: Examples) -> Pair:
    """Return examples and labels as a federation has them, or a sentence on what is wrong."""
    where, x, y = examples.where, examples.x, examples.y
    if x.dtype.kind not in NUMERIC or y.dtype.kind not in "iu" or y.ndim != 1 or x.ndim < 1:
        raise DataError(
            f"{where} has examples of type {x.dtype} and labels of type {y.dtype} in {y.ndim} "
            "dimensions: give numbers, and one whole number for each as its label, with classes "
            "numbered from 0 and alike for all clients, for flexcfl has no regression."
        )
    if len(x) != len(y):
        raise DataError(
            f"{where} has {len(x)} examples but {len(y)} labels: give every example one label."
        )
    with np.errstate(over="ignore"):  # which is seen below
        numbers = np.ascontiguousarray(x, dtype=np.float32)
    if numbers.size and not np.isfinite([numbers.min(), numbers.max()]).all():
        raise DataError(f"{where} has NaN or infinity in its examples: fill in what is missing.")
    return numbers, y.astype(np.int64, copy=False)


class _Part(NamedTuple):
    """What a client has to train with, or to test with."""

    client: int
    test: bool
    where: str
    x: NDArray[np.float32]
    y: NDArray[np.int64]


def gathered(
    name: str, holdings: Mapping[Any, Holding], division: Division, classes: int | None
) -> Federation:
    """Return the federation of clients by what they are called, in this order."""
    held = enumerate(holdings.values())
    parts = [part for client, holding in held for part in _parts(client, holding)]
    _demand_one_shape(parts)
    _demand_known_labels(parts, classes)
    sizes = [len(part.y) for part in parts]
    client_of = np.repeat([part.client for part in parts], sizes)
    test = np.repeat([part.test for part in parts], sizes)
    whole = np.array([holding.whole for holding in holdings.values()])
    if whole.any():
        test |= drawn(client_of, division, whole)
    x = np.concatenate([part.x for part in parts if len(part.y)])
    y = np.concatenate([part.y for part in parts])
    return pooled(name, x, y, client_of, test, classes=classes, names=names_of(list(holdings)))


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
