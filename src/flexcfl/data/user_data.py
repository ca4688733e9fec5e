"""Custom data: the examples of each client, checked and combined into a federation."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic.dataclasses import dataclass as pydantic_dataclass

from flexcfl.data.client_lists import IndexLists, offsets_of
from flexcfl.data.federation import Federation, unknown_label_error
from flexcfl.data.options import FORBID, Seed, Share
from flexcfl.data.partition import Indices, by_owner, split
from flexcfl.errors import DataError, DataWarning
from flexcfl.seeds import generator

Flags: TypeAlias = NDArray[np.bool_]
Pair: TypeAlias = tuple[NDArray[np.float32], NDArray[np.int64]]

NUMERIC = "fiub"  # the kinds of arrays that hold numbers: float, int, unsigned, bool
# A larger label is a mistake; so many classes would need too much memory.
MOST_CLASSES = 1_000_000
# With more classes than this share of the examples, labels are hardly classes: warn, like
# scikit-learn.
FEW_EXAMPLES, MOST_SHARE = 20, 0.5


@dataclass(frozen=True, eq=False)
class RawExamples:
    """Examples and labels that are not checked yet.

    ``subject`` begins the sentences about them, such as a file name in quotation marks.
    """

    subject: str
    x: NDArray[Any]
    y: NDArray[Any]


@dataclass(frozen=True, eq=False)
class ClientData:
    """The data of one client; it may have no test data.

    If ``unsplit`` is true, the data are not split yet: the test examples are still in ``train``.
    """

    train: RawExamples
    test: RawExamples | None = None
    unsplit: bool = False


def checked_arrays(examples: RawExamples) -> Pair:
    """Return examples and labels in the types of a federation, or raise an error."""
    subject, x, y = examples.subject, examples.x, examples.y
    if x.dtype.kind not in NUMERIC or y.dtype.kind not in "iu" or y.ndim != 1 or x.ndim < 1:
        raise DataError(
            f"{subject} has examples of type {x.dtype} and labels of type {y.dtype} in {y.ndim} "
            "dimensions: give numbers, and one whole number as the label of each example, with the "
            "same classes from 0 for all clients; flexcfl has no regression."
        )
    if len(x) != len(y):
        raise DataError(
            f"{subject} has {len(x)} examples but {len(y)} labels: give every example one label."
        )
    with np.errstate(over="ignore"):  # an overflow gives infinity, which is checked below
        numbers = np.ascontiguousarray(x, dtype=np.float32)
    if numbers.size and not np.isfinite([numbers.min(), numbers.max()]).all():
        raise DataError(f"{subject} has NaN or infinity in its examples: fill in missing values.")
    return numbers, y.astype(np.int64, copy=False)


def arrays_that_fit(
    examples: RawExamples, shape: tuple[int, ...], classes: int, wanting: str, table: str = ""
) -> Pair:
    """Return examples of a ``shape`` with labels below ``classes``.

    Otherwise raise an error that they do not fit ``wanting``, which names the setting in the
    experiment's ``table`` that requires this.
    """
    said = {name: f" ({table} {name})" if table else "" for name in ("shape", "classes")}
    subject, (x, y) = examples.subject, checked_arrays(examples)
    if not _alike(x.shape[1:], shape):
        raise DataError(
            f"The data do not fit {wanting}: {subject} has examples of shape {x.shape[1:]} instead "
            f"of {shape}{said['shape']}; convert them like those of the other clients."
        )
    if len(y) and not 0 <= y.min() <= y.max() < classes:
        # The message does not reveal the label: a node sends this message to the server.
        raise DataError(
            f"The data do not fit {wanting}: {subject} has a label outside of 0 to {classes - 1}"
            f"{said['classes']}; number the labels like the other clients."
        )
    return x.reshape(len(x), *shape), y


def _alike(shape: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Return whether a reshape is enough, because one side is flat or has an axis of size one."""
    if np.prod(shape) != np.prod(wanted):
        return False
    flat = min(len(shape), len(wanted)) == 1
    return flat or [each for each in shape if each > 1] == [each for each in wanted if each > 1]


@pydantic_dataclass(frozen=True, config=FORBID)
class SplitOptions:
    """The share of each client's examples for testing, and the seed that draws them."""

    test_share: Share = 0.2
    seed: Seed = 0


def draw_test_flags(
    client_of: Indices, division: SplitOptions, among: Sequence[int] | None = None
) -> Flags:
    """Draw the test examples of a pool, for all clients or for some, and return their flags."""
    lists = by_owner(client_of)
    chosen = lists if among is None else [lists[client] for client in among]
    flags = np.zeros(len(client_of), dtype=np.bool_)
    flags[split(chosen, division.test_share, generator(division.seed, "split"))[1].indices] = True
    return flags


def federation_of_pool(
    name: str,
    x: NDArray[Any],
    y: NDArray[Any],
    client_of: Indices,
    test: Flags,
    clients: Sequence[Any],
    classes: int | None,
) -> Federation:
    """Return the federation of a pool; ``test`` flags the test examples."""
    order = np.argsort(client_of, kind="stable")

    def lists(chosen: Flags) -> IndexLists:
        sizes = np.bincount(client_of[chosen], minlength=len(clients))
        return IndexLists(order[chosen[order]], offsets_of(sizes))

    number, names = _number_of_classes(name, y, classes), _names(clients)
    return Federation(name, x, y, lists(~test), lists(test), number, names=names)


def _number_of_classes(name: str, y: NDArray[Any], classes: int | None) -> int:
    """Return the number of classes: the given one, or the largest label plus one.

    Warn if the labels look like quantities.
    """
    if classes is not None:
        return classes
    number = min(max(int(y.max()) + 1, 1), MOST_CLASSES)
    if y.size > FEW_EXAMPLES and number > MOST_SHARE * y.size:
        sentence = (
            f"'{name}' has labels up to {number - 1} on {y.size} examples, which makes {number} "
            "classes: flexcfl classifies and has no regression; if these are classes, number them "
            "from 0 without gaps (np.unique(y, return_inverse=True)[1])."
        )
        warnings.warn(DataWarning(sentence), stacklevel=2)
    return number


def _names(clients: Sequence[Any]) -> tuple[str, ...]:
    """Return the names of clients; there are none if clients are numbered from 0.

    >>> _names(["ann", "bob"]), _names([7, 9]), _names([0, 1])
    (('ann', 'bob'), ('7', '9'), ())
    """
    numbered = list(clients) == list(range(len(clients)))
    return () if numbered else tuple(map(str, clients))


class ClientPart(NamedTuple):
    """The training or the test data of a client; if ``test`` is None, they are not split yet."""

    client: int
    test: bool | None
    subject: str
    x: NDArray[np.float32]
    y: NDArray[np.int64]


def federation_of_clients(
    name: str, data: Mapping[Any, ClientData], division: SplitOptions, classes: int | None
) -> Federation:
    """Return the federation of clients that are given by name, in the same order."""
    parts = [part for client, own in enumerate(data.values()) for part in _parts(client, own)]
    return federation_of_parts(name, parts, list(data), division, classes)


def _parts(client: int, own: ClientData) -> Iterator[ClientPart]:
    yield ClientPart(
        client, None if own.unsplit else False, own.train.subject, *checked_arrays(own.train)
    )
    if own.test is not None:
        yield ClientPart(client, True, own.test.subject, *checked_arrays(own.test))


def federation_of_parts(
    name: str,
    parts: Sequence[ClientPart],
    clients: Sequence[Any],
    division: SplitOptions | None = None,
    classes: int | None = None,
) -> Federation:
    """Return the federation of all parts; those with ``test`` None are split at random."""
    _demand_training(parts)
    _demand_one_shape([part for part in parts if len(part.y)])
    _demand_known_labels(parts, classes)
    sizes = [len(part.y) for part in parts]
    client_of = np.repeat([part.client for part in parts], sizes)
    test = np.repeat([part.test is True for part in parts], sizes)
    undivided = [part.client for part in parts if part.test is None]
    if undivided:
        test |= draw_test_flags(client_of, division or SplitOptions(), undivided)
    x = np.concatenate([part.x for part in parts if len(part.y)])
    y = np.concatenate([part.y for part in parts])
    return federation_of_pool(name, x, y, client_of, test, clients, classes)


def _demand_training(parts: Sequence[ClientPart]) -> None:
    for part in parts:
        if not (part.test or len(part.y)):
            raise DataError(f"{part.subject} has no training example: a client needs one.")


def _demand_one_shape(parts: Sequence[ClientPart]) -> None:
    first, shape = parts[0].subject, parts[0].x.shape[1:]
    for part in parts:
        if part.x.shape[1:] != shape:
            raise DataError(
                f"{part.subject} has examples of shape {part.x.shape[1:]}, but those of "
                f"{first[:1].lower()}{first[1:]} have shape {shape}: bring all examples to one "
                "shape."
            )


def _demand_known_labels(parts: Sequence[ClientPart], classes: int | None) -> None:
    known = MOST_CLASSES if classes is None else classes
    for part in parts:
        odd = part.y[(part.y < 0) | (part.y >= known)]
        if len(odd):
            raise unknown_label_error(part.subject, odd[0], known)
