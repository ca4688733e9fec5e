"""A federation: one pool of arrays and, for every client, the indices of its examples.

It is checked when it is made. Finding the client of a bad example takes as long as the check
itself, so that search begins only when something is wrong.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flexcfl.data.client_lists import IndexLists, MadeLists
from flexcfl.errors import DataError, reason
from flexcfl.settings import short_repr

# What to do with labels that are not class numbers.
LABEL_ADVICE = (
    "number the classes from 0 (np.unique(y, return_inverse=True)[1] does that for strings, if y "
    "has the labels of all clients); flexcfl classifies and has no regression"
)


@dataclass(frozen=True, eq=False)
class Federation:
    """Clients and their data: one pool of examples, and the indices of each client's examples.

    Every client has at least one training example. Arrays of other types are converted to
    contiguous float32 and int64 arrays; arrays that already have these types are not copied.

    Attributes:
        name: The name of the federation.
        x: The pool of examples, of shape ``(examples, *shape of one example)``.
        y: The label of each example, in ``range(classes)``.
        train: The indices of each client's training examples. Plain lists, one per client, become
            ``IndexLists``; ``MadeLists`` are computed when they are needed and allow very many
            clients.
        test: The indices of each client's test examples, in the same form.
        classes: The number of classes.
        structure: The true cluster of each client, if it is known, to judge the groups that an
            algorithm finds.
        names: The names of the clients; empty if they only have numbers.

    Example:
        >>> import numpy as np
        >>> x, y = np.zeros((4, 2)), np.array([0, 1, 0, 1])
        >>> Federation("two", x, y, train=[[0], [2]], test=[[1], [3]], classes=2).clients
        2

    """

    name: str
    x: NDArray[np.float32]
    y: NDArray[np.int64]
    train: IndexLists | MadeLists
    test: IndexLists | MadeLists
    classes: int
    structure: NDArray[np.int64] | None = None
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check_name_and_classes(self.name, self.classes)
        object.__setattr__(self, "x", _numbers(self.name, self.x))
        object.__setattr__(self, "y", _labels(self.name, self.y, len(self.x)))
        for part in ("train", "test"):
            lists = getattr(self, part)
            if not isinstance(lists, IndexLists | MadeLists):
                object.__setattr__(self, part, IndexLists.of(lists))
        object.__setattr__(self, "names", _names(self.name, self.names, self.clients))
        _check_lists(self)
        _check_numbers(self)
        _check_labels(self)
        if self.structure is not None:
            structure = _structure(self.name, self.structure, self.clients)
            object.__setattr__(self, "structure", structure)

    def __repr__(self) -> str:
        train, test = (f"{int(each.sizes.sum()):,}" for each in (self.train, self.test))
        shape = " x ".join(map(str, self.shape))
        return (
            f"Federation {self.name!r}: clients {self.clients:,}, classes {self.classes:,}\n"
            f"training examples {train}, test examples {test}\n"
            f"shape of an example {shape}"
        )

    @property
    def clients(self) -> int:
        """The number of clients."""
        return len(self.train)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one example."""
        return self.x.shape[1:]


def placeholder_federation(
    name: str, clients: int, shape: tuple[int, ...], classes: int
) -> Federation:
    """Return a stand-in for a federation whose examples are elsewhere.

    All clients have the same blank example.
    """
    lists = IndexLists(np.zeros(clients, dtype=np.int64), np.arange(clients + 1))
    x, y = np.zeros((1, *shape), dtype=np.float32), np.zeros(1, dtype=np.int64)
    return Federation(name, x, y, lists, lists, classes)


def unknown_label_error(subject: str, label: int, classes: int) -> DataError:
    """Return the error for a label outside of the classes."""
    return DataError(
        f"{subject} has the label {label}, outside of 0 to {classes - 1}: number the classes from "
        "0, or correct their number."
    )


def _check_name_and_classes(name: object, classes: object) -> None:
    """Check the name and the number of classes."""
    if not (isinstance(name, str) and name):
        raise DataError(f"The name of a federation must be a non-empty string, not {name!r}.")
    if isinstance(classes, bool) or not isinstance(classes, Integral) or int(classes) < 1:
        raise DataError(
            f"The number of classes of '{name}' must be a whole number of at least 1, "
            f"not {classes!r}."
        )


def _numbers(name: str, x: ArrayLike) -> NDArray[np.float32]:
    """Return the examples as a contiguous float32 array."""
    try:
        with np.errstate(over="ignore"):  # an overflow gives infinity, which is checked later
            array = np.ascontiguousarray(x, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"The examples of '{name}' are not an array of numbers ({reason(error)}): give every "
            "example the same shape, and only numbers."
        ) from None
    if 0 in array.shape[1:]:
        raise DataError(
            f"The examples of '{name}' are of shape {array.shape[1:]}, and an example must hold "
            "at least one number: fill them in, or leave them out."
        )
    return array


def _labels(name: str, y: ArrayLike, examples: int) -> NDArray[np.int64]:
    """Return the labels as a contiguous int64 array, one for each example."""
    array = np.asarray(y)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise DataError(
            f"The labels of '{name}' are of type {array.dtype} and shape {array.shape}: "
            f"give one whole number for each example, and {LABEL_ADVICE}."
        )
    if len(array) != examples:
        raise DataError(
            f"'{name}' has {examples} examples but {len(array)} labels: every example needs one "
            "label."
        )
    return np.ascontiguousarray(array, dtype=np.int64)


def _names(name: str, given: Sequence[str], clients: int) -> tuple[str, ...]:
    """Return the names of the clients."""
    if isinstance(given, str) or not all(isinstance(each, str) for each in given):
        raise DataError(f"The names of the clients of '{name}' must be a list of strings.")
    if len(given) not in (0, clients):
        raise DataError(
            f"'{name}' names {len(given)} of {clients} clients: name all of them, or none."
        )
    return tuple(given)


def _structure(name: str, given: ArrayLike, clients: int) -> NDArray[np.int64]:
    """Return the true clusters of the clients."""
    cluster_of = np.asarray(given)
    if cluster_of.shape != (clients,) or cluster_of.dtype.kind not in "iu":
        raise DataError(
            f"The structure of '{name}' is of type {cluster_of.dtype} and shape "
            f"{cluster_of.shape}: give one whole number, its true cluster, for each of the "
            f"{clients} clients."
        )
    return np.ascontiguousarray(cluster_of, dtype=np.int64)


def _check_lists(federation: Federation) -> None:
    """Check that both lists name the same clients, existing examples, and training examples."""
    train, test = federation.train, federation.test
    if len(train) == 0 or len(train) != len(test):
        raise DataError(
            f"'{federation.name}' lists {len(train)} clients for training and {len(test)} for "
            "testing: list the same clients in both, at least one."
        )
    _check_indices(federation, train)
    _check_indices(federation, test)
    empty = np.flatnonzero(train.sizes == 0)
    if len(empty):
        raise DataError(
            f"{_client(federation, empty[0])} has no training example: give it one, or leave the "
            "client out."
        )


def _check_indices(federation: Federation, lists: IndexLists | MadeLists) -> None:
    examples = len(federation.y)
    if isinstance(lists, MadeLists):
        if lists.examples != examples:
            raise DataError(
                f"The lists of '{federation.name}' are made for a pool of {lists.examples} "
                f"examples, and there are {examples}: correct that number."
            )
        lists.gathered(np.unique([0, len(lists) - 1]))  # try the first and the last list
        return
    indices = lists.indices
    strange = np.flatnonzero((indices < 0) | (indices >= examples))
    if len(strange):
        holder = _client(federation, _holder(lists, strange[0]))
        raise DataError(
            f"{holder} lists the example {indices[strange[0]]}, but the pool has 0 to "
            f"{examples - 1}: correct its index."
        )


def _check_numbers(federation: Federation) -> None:
    """Check that all numbers are finite."""
    x = federation.x
    # The minimum and the maximum suffice: a test of every number needs another array of this size.
    if not x.size or np.isfinite([x.min(), x.max()]).all():
        return
    odd = np.flatnonzero(~np.isfinite(x).reshape(len(x), -1).all(axis=1))
    raise DataError(
        f"{_owner(federation, odd[0])} has NaN or infinity in its example {odd[0]} of the pool: "
        "fill in or leave out the missing values."
    )


def _check_labels(federation: Federation) -> None:
    """Check that all labels are classes."""
    y, classes = federation.y, federation.classes
    odd = np.flatnonzero((y < 0) | (y >= classes))
    if len(odd):
        raise unknown_label_error(_owner(federation, odd[0]), y[odd[0]], classes)


def _client(federation: Federation, number: int) -> str:
    """Return the subject of a sentence about a client."""
    own = short_repr(federation.names[number]) if federation.names else str(number)
    return f"Client {own} of '{federation.name}'"


def _owner(federation: Federation, index: int) -> str:
    """Return the subject of a sentence about an example's owner, without making any list."""
    for lists in (federation.train, federation.test):
        if isinstance(lists, IndexLists):
            places = np.flatnonzero(lists.indices == index)
            if len(places):
                return _client(federation, _holder(lists, places[0]))
    return f"'{federation.name}'"


def _holder(lists: IndexLists, place: int) -> int:
    """Return the client whose list contains a position."""
    return int(np.searchsorted(lists.offsets, place, side="right")) - 1
