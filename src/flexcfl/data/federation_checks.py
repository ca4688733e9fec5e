"""What must hold of a federation, with sentences that say which client it does not hold for.

The search for that client takes as long as the check, so it begins only when something is wrong.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flexcfl.data.client_lists import IndexLists, MadeLists
from flexcfl.errors import DataError, reason
from flexcfl.settings import shown

__all__ = [
    "NUMBERED",
    "Whose",
    "check_labels",
    "check_lists",
    "check_name_and_classes",
    "check_numbers",
    "labels",
    "names",
    "numbers",
    "strange_label",
    "structure",
]

Lists: TypeAlias = IndexLists | MadeLists

# What to do with labels that are no classes yet, and what cannot be done with quantities.
NUMBERED = (
    "number the classes from 0 (np.unique(y, return_inverse=True)[1] does that for texts, where y "
    "has the labels of all clients), for flexcfl classifies and has no regression"
)


@dataclass(frozen=True, eq=False)
class Whose:
    """The clients of a federation called ``name``, as sentences call them."""

    name: str
    names: Sequence[str]
    train: Lists
    test: Lists

    def client(self, number: int) -> str:
        """Return how a sentence on a client begins."""
        own = shown(self.names[number]) if self.names else str(number)
        return f"Client {own} of '{self.name}'"

    def example(self, index: int) -> str:
        """Return how a sentence on an example's owner begins, without making any list."""
        for lists in (self.train, self.test):
            if isinstance(lists, IndexLists):
                places = np.flatnonzero(lists.indices == index)
                if len(places):
                    return self.client(_holder(lists, places[0]))
        return f"'{self.name}'"


def _holder(lists: IndexLists, place: int) -> int:
    """Return the client in whose list a place is."""
    return int(np.searchsorted(lists.offsets, place, side="right")) - 1


def check_name_and_classes(name: object, classes: object) -> None:
    """Demand a name, and a number of classes that is one."""
    if not (isinstance(name, str) and name):
        raise DataError(f"The name of a federation must be a text that is not empty, not {name!r}.")
    if isinstance(classes, bool) or not isinstance(classes, Integral) or int(classes) < 1:
        raise DataError(
            f"The number of classes of '{name}' must be a whole number of at least 1, "
            f"not {classes!r}."
        )


def numbers(name: str, x: ArrayLike) -> NDArray[np.float32]:
    """Return examples as they are stored."""
    try:
        with np.errstate(over="ignore"):  # which is infinity, and seen later
            array = np.ascontiguousarray(x, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"The examples of '{name}' are no array of numbers ({reason(error)}): give every "
            "example the same shape, of numbers alone."
        ) from None
    if 0 in array.shape[1:]:
        raise DataError(
            f"The examples of '{name}' are of shape {array.shape[1:]}, and an example must hold "
            "at least one number: fill them in, or leave them out."
        )
    return array


def labels(name: str, y: ArrayLike, examples: int) -> NDArray[np.int64]:
    """Return labels as they are stored, one for each example."""
    array = np.asarray(y)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise DataError(
            f"The labels of '{name}' are of type {array.dtype} and shape {array.shape}: "
            f"give one whole number for each example, and {NUMBERED}."
        )
    if len(array) != examples:
        raise DataError(
            f"'{name}' has {examples} examples but {len(array)} labels: every example needs one "
            "label."
        )
    return np.ascontiguousarray(array, dtype=np.int64)


def names(name: str, given: Sequence[str], clients: int) -> tuple[str, ...]:
    """Return what clients are called."""
    if isinstance(given, str) or not all(isinstance(each, str) for each in given):
        raise DataError(f"The names of the clients of '{name}' must be a list of texts.")
    if len(given) not in (0, clients):
        raise DataError(
            f"'{name}' names {len(given)} of {clients} clients: name all of them, or none."
        )
    return tuple(given)


def structure(name: str, given: ArrayLike, clients: int) -> NDArray[np.int64]:
    """Return the true clusters of the clients."""
    cluster_of = np.asarray(given)
    if cluster_of.shape != (clients,) or cluster_of.dtype.kind not in "iu":
        raise DataError(
            f"The structure of '{name}' is of type {cluster_of.dtype} and shape "
            f"{cluster_of.shape}: give one whole number, its true cluster, for each of the "
            f"{clients} clients."
        )
    return np.ascontiguousarray(cluster_of, dtype=np.int64)


def check_numbers(whose: Whose, x: NDArray[np.float32]) -> None:
    """Demand that all numbers are finite."""
    # A minimum and a maximum, because asking every number would need another array of their size.
    if not x.size or np.isfinite([x.min(), x.max()]).all():
        return
    odd = np.flatnonzero(~np.isfinite(x).reshape(len(x), -1).all(axis=1))
    raise DataError(
        f"{whose.example(odd[0])} has NaN or infinity in its example {odd[0]} of the pool: fill in "
        "or leave out what is missing."
    )


def check_labels(whose: Whose, y: NDArray[np.int64], classes: int) -> None:
    """Demand labels of classes that there are."""
    odd = np.flatnonzero((y < 0) | (y >= classes))
    if len(odd):
        raise strange_label(whose.example(odd[0]), y[odd[0]], classes)


def strange_label(subject: str, label: int, classes: int) -> DataError:
    """Return the sentence on a label of a class that there is not."""
    return DataError(
        f"{subject} has the label {label}, outside of 0 to {classes - 1}: number the classes from "
        "0, or correct their number."
    )


def check_lists(whose: Whose, examples: int) -> None:
    """Demand lists of the same clients, of examples that there are, one of them to train with."""
    train, test = whose.train, whose.test
    if len(train) == 0 or len(train) != len(test):
        raise DataError(
            f"'{whose.name}' lists {len(train)} clients for training and {len(test)} for testing: "
            "both must name the same clients, at least one."
        )
    _check_indices(whose, train, examples)
    _check_indices(whose, test, examples)
    empty = np.flatnonzero(train.sizes == 0)
    if len(empty):
        raise DataError(
            f"{whose.client(empty[0])} has no training example: give it one, or leave the client "
            "out."
        )


def _check_indices(whose: Whose, lists: Lists, examples: int) -> None:
    if isinstance(lists, MadeLists):
        if lists.examples != examples:
            raise DataError(
                f"The lists of '{whose.name}' are made for a pool of {lists.examples} examples, "
                f"and there are {examples}: correct that number."
            )
        lists.gathered(np.unique([0, len(lists) - 1]))  # two lists for a try
        return
    indices = lists.indices
    strange = np.flatnonzero((indices < 0) | (indices >= examples))
    if len(strange):
        raise DataError(
            f"{whose.client(_holder(lists, strange[0]))} lists the example {indices[strange[0]]}, "
            f"but the pool has 0 to {examples - 1}: correct its index."
        )
