"""A federation from datasets of PyTorch's kind, which have a length and give pairs by index."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flexcfl.data.arrays import Owners, Subject, from_arrays, label_of, stacked
from flexcfl.data.federation import Federation
from flexcfl.data.user_data import Division, Examples, Holding, federation_of_clients
from flexcfl.errors import DataError
from flexcfl.extensions import RAISED, in_short
from flexcfl.settings import keywords, shown, validated

__all__ = ["Datasets", "PairedDataset", "by_client", "from_dataset"]


class PairedDataset(Protocol):
    """A map-style ``torch.utils.data.Dataset`` of examples and labels, or whatever is like it."""

    def __getitem__(self, index: int, /) -> Any:
        """Return the pair (example, label) of an index."""


Datasets: TypeAlias = Mapping[Any, PairedDataset] | Sequence[PairedDataset]


@keywords()
def from_dataset(
    dataset: PairedDataset | Datasets,
    owner: ArrayLike | None = None,
    *,
    name: str = "mine",
    test: ArrayLike | Datasets | None = None,
    test_share: float = 0.2,
    seed: int = 0,
    classes: int | None = None,
) -> Federation:
    """Return a federation of one dataset whose examples have owners, or of one for each client.

    Every example is read once, with the transforms that the dataset has, and kept. Images of
    Pillow become numbers from 0 to 1 with their channels first.

    Args:
        dataset: A map-style ``Dataset`` of pairs (example, label) with an ``owner`` for each; or,
            without ``owner``, a mapping from clients' names to such datasets, or a list of these.
        owner: A number or a text for each example of the one dataset: whose it is.
        name: What the federation is called.
        test: With ``owner`` a flag for each example, as for ``from_arrays``; else the datasets to
            test with, given as ``dataset`` is. Without it, examples are divided at random.
        test_share: The share of a client's examples that is drawn to test with.
        seed: The seed of that draw.
        classes: The number of classes; by default the largest label plus one.

    """
    if owner is not None:
        owners = Owners(name, owner)
        owners.demand(_length(dataset, f"'{name}'"), "examples")
        x, y = _read(dataset, owners.subject)
        drawing: dict[str, Any] = {"test": test, "test_share": test_share, "seed": seed}
        return from_arrays(x, y, owner, name=name, classes=classes, **drawing)
    division = validated(Division, {"test_share": test_share, "seed": seed}, "from_dataset")
    train = by_client(dataset, name, "or one dataset with owner=")
    tests = None if test is None else by_client(test, name, "as those to train with")
    if tests is not None:
        _demand_known(tests, train, name)
    return federation_of_clients(name, dict(_holdings(train, tests, name)), division, classes)


def by_client(datasets: Any, name: str, instead: str) -> Mapping[Any, Any]:
    """Return datasets by what their clients are called, or by their numbers."""
    if isinstance(datasets, Mapping):
        found: Mapping[Any, Any] = datasets
    elif isinstance(datasets, list | tuple):
        found = dict(enumerate(datasets))
    else:
        raise DataError(
            f"The clients of '{name}' must be a mapping or a list of datasets, one for each, not "
            f"{type(datasets).__name__}: give that, {instead}."
        )
    if not found:
        raise DataError(f"'{name}' has no clients: give a dataset for at least one.")
    return found


def _demand_known(tests: Mapping[Any, Any], train: Mapping[Any, Any], name: str) -> None:
    stranger = next((client for client in tests if client not in train), None)
    if stranger is not None:
        raise DataError(
            f"Client {shown(stranger)} of '{name}' is in test= alone: give it a dataset to train "
            "with, or leave the client out."
        )


def _holdings(
    train: Mapping[Any, Any], tests: Mapping[Any, Any] | None, name: str
) -> Iterator[tuple[Any, Holding]]:
    for client, dataset in train.items():
        own = _examples(f"Client {shown(client)} of '{name}'", dataset)
        if tests is None:
            yield client, Holding(own, whole=True)
        elif client not in tests:
            yield client, Holding(own)
        else:
            where = f"The test set of client {shown(client)} of '{name}'"
            yield client, Holding(own, _examples(where, tests[client]))


def _examples(where: str, dataset: Any) -> Examples:
    return Examples(where, *_read(dataset, lambda index: where))


def _read(dataset: Any, subject: Subject) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return all examples and labels of a dataset, in arrays."""
    number = _length(dataset, subject(0))
    labels = np.zeros(number, dtype=np.int64)

    def examples() -> Iterator[Any]:
        for index in range(number):
            example, label = _pair(dataset, index, subject)
            labels[index] = label_of(label, index, subject)
            yield example

    return stacked(examples(), number, subject), labels


def _length(dataset: Any, subject: str) -> int:
    try:
        return len(dataset)
    except RAISED as error:
        raise DataError(
            f"{subject} has a dataset of type {type(dataset).__name__} without a length "
            f"({in_short(error)}): give a map-style dataset, which has len() and []."
        ) from error


def _pair(dataset: Any, index: int, subject: Subject) -> tuple[Any, Any]:
    try:
        item = dataset[index]
    except RAISED as error:
        raise DataError(
            f"{subject(index)} has the example {index}, which cannot be read "
            f"({in_short(error)}): mend the dataset, or leave it out."
        ) from error
    if not isinstance(item, tuple | list) or len(item) != 2:
        raise DataError(
            f"{subject(index)} has for the example {index} no pair of example and label but "
            f"{shown(type(item).__name__)}: let the dataset return such pairs."
        )
    return item[0], item[1]
