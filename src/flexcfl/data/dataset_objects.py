"""A federation from dataset objects: PyTorch, Hugging Face or flwr-datasets.

A PyTorch dataset has a length and returns a pair for each index. This module imports none of these
packages: a user who has such objects has installed them (``flexcfl[datasets]`` for Hugging Face).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flexcfl.data.arrays import Owners, Subject, from_arrays, label_as_int, stack_examples
from flexcfl.data.federation import Federation
from flexcfl.data.user_data import ClientData, RawExamples, SplitOptions, federation_of_clients
from flexcfl.errors import DataError, reason
from flexcfl.extensions import RAISED, error_summary
from flexcfl.settings import keywords, short_repr, validated

Columns: TypeAlias = str | Sequence[str]

# The types of columns that hold examples.
ARRAYS = ("Image", "Array2D", "Array3D", "Array4D", "Array5D", "List", "LargeList", "Sequence")


class PairedDataset(Protocol):
    """A map-style ``torch.utils.data.Dataset`` of examples and labels, or a similar object."""

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
    """Build a federation from PyTorch datasets: one dataset with owners, or one for each client.

    Every example is read once, through the transforms of the dataset, and kept in memory. Pillow
    images become numbers from 0 to 1 with their channels first.

    Args:
        dataset: With ``owner``, one map-style ``Dataset`` of pairs (example, label). Without it, a
            mapping from client names to such datasets, or a list of them.
        owner: The owner of each example of the one dataset, a number or a string.
        name: The name of the federation.
        test: With ``owner``, a flag for each example, as for ``from_arrays``. Without it, the test
            datasets, in the same form as ``dataset``. By default, examples are split at random.
        test_share: The share of each client's examples that the random split uses for testing.
        seed: The seed of the random split.
        classes: The number of classes; by default the largest label plus one.

    Returns:
        The federation, with one client for each owner or for each dataset.

    Raises:
        DataError: If a dataset has no length, or an example or label cannot be used.

    Example:
        >>> import numpy as np
        >>> pairs = [(np.zeros(2), 0), (np.ones(2), 1), (np.zeros(2), 0), (np.ones(2), 1)]
        >>> from_dataset({"ann": pairs, "bob": pairs}).names
        ('ann', 'bob')

    """
    if owner is not None:
        owners = Owners(name, owner)
        owners.require_length(_length(dataset, f"'{name}'"), "examples")
        x, y = _read(dataset, owners.subject)
        drawing: dict[str, Any] = {"test": test, "test_share": test_share, "seed": seed}
        return from_arrays(x, y, owner, name=name, classes=classes, **drawing)
    division = validated(SplitOptions, {"test_share": test_share, "seed": seed}, "from_dataset")
    train = _by_client(dataset, name, "or one dataset with owner=")
    tests = None if test is None else _by_client(test, name, "as for the training datasets")
    stranger = next((client for client in tests or () if client not in train), None)
    if stranger is not None:
        raise DataError(
            f"Client {short_repr(stranger)} of '{name}' is in test= alone: give it a dataset to "
            "train with, or leave the client out."
        )
    return federation_of_clients(name, dict(_client_data(train, tests, name)), division, classes)


@keywords()
def from_partitions(
    partitions: Any,
    *,
    features: Columns | None = None,
    label: str | None = None,
    test: Any = None,
    name: str = "mine",
    test_share: float = 0.2,
    seed: int = 0,
    classes: int | None = None,
) -> Federation:
    """Build a federation from Hugging Face ``datasets.Dataset`` objects, one for each client.

    Images become numbers from 0 to 1 with their channels first. With a ``NaturalIdPartitioner``,
    the natural ids become the names of the clients.

    Args:
        partitions: A mapping from client names to datasets, a list of datasets, a flwr-datasets
            ``Partitioner`` that has its dataset, or a ``FederatedDataset`` with one partitioner.
        features: The column of the examples, or several columns of numbers that together make up
            an example; by default the only column of images or arrays.
        label: The column of the labels; by default the only one of type ``ClassLabel``.
        test: The test partitions of the same clients, in any of these forms. By default, each
            client's examples are split at random.
        name: The name of the federation.
        test_share: The share of each client's examples that the random split uses for testing.
        seed: The seed of the random split.
        classes: The number of classes; by default that of the ``ClassLabel``, or else the largest
            label plus one.

    Returns:
        The federation, with one client for each partition.

    Raises:
        DataError: If the partitions cannot be read, or a column must be chosen.

    Example:
        from flwr_datasets import FederatedDataset

        mnist = FederatedDataset(dataset="ylecun/mnist", partitioners={"train": 100})
        federation = from_partitions(mnist)

    """
    train = dict(_partitions(partitions, name))
    tests = None if test is None else dict(_partitions(test, name))
    first = next(iter(train.values()))
    types = {column: type(each).__name__ for column, each in _features(first, name).items()}
    if label is None:
        label = _only(types, ("ClassLabel",), "label", "of type ClassLabel", name)
    if features is None:
        features = _only(types, ARRAYS, "features", "of images or arrays", name)
    if classes is None:
        classes = getattr(first.features.get(label), "num_classes", None)

    def pairs(datasets: Mapping[Any, Any]) -> dict[Any, _Pairs]:
        return {
            client: _Pairs(each, features, label, client, name) for client, each in datasets.items()
        }

    return from_dataset(
        pairs(train),
        test=None if tests is None else pairs(tests),
        name=name,
        test_share=test_share,
        seed=seed,
        classes=classes,
    )


def _by_client(datasets: Any, name: str, instead: str) -> Mapping[Any, Any]:
    """Return the datasets by client name, or by client number if they have no names."""
    if isinstance(datasets, Mapping):
        found: Mapping[Any, Any] = datasets
    elif isinstance(datasets, list | tuple):
        found = dict(enumerate(datasets))
    else:
        raise DataError(
            f"The clients of '{name}' must be a mapping or a list of datasets, one for each, not "
            f"{type(datasets).__name__}: give one of these, {instead}."
        )
    if not found:
        raise DataError(f"'{name}' has no clients: give a dataset for at least one.")
    return found


def _client_data(
    train: Mapping[Any, Any], tests: Mapping[Any, Any] | None, name: str
) -> Iterator[tuple[Any, ClientData]]:
    for client, dataset in train.items():
        own = _examples(f"Client {short_repr(client)} of '{name}'", dataset)
        if tests is None:
            yield client, ClientData(own, unsplit=True)
        elif client not in tests:
            yield client, ClientData(own)
        else:
            subject = f"The test set of client {short_repr(client)} of '{name}'"
            yield client, ClientData(own, _examples(subject, tests[client]))


def _examples(subject: str, dataset: Any) -> RawExamples:
    return RawExamples(subject, *_read(dataset, lambda index: subject))


def _read(dataset: Any, subject: Subject) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return all examples and labels of a dataset, in arrays."""
    number = _length(dataset, subject(0))
    labels = np.zeros(number, dtype=np.int64)

    def examples() -> Iterator[Any]:
        for index in range(number):
            example, label = _pair(dataset, index, subject)
            labels[index] = label_as_int(label, index, subject)
            yield example

    return stack_examples(examples(), number, subject), labels


def _length(dataset: Any, subject: str) -> int:
    try:
        return len(dataset)
    except RAISED as error:
        raise DataError(
            f"{subject} has a dataset of type {type(dataset).__name__} without a length "
            f"({error_summary(error)}): give a map-style dataset, which has len() and []."
        ) from error


def _pair(dataset: Any, index: int, subject: Subject) -> tuple[Any, Any]:
    try:
        item = dataset[index]
    except RAISED as error:
        raise DataError(
            f"{subject(index)} has the example {index}, which cannot be read "
            f"({error_summary(error)}): correct the dataset, or leave it out."
        ) from error
    if not isinstance(item, tuple | list) or len(item) != 2:
        raise DataError(
            f"{subject(index)} returns {short_repr(type(item).__name__)} for the example {index}, "
            "not a pair of example and label: let the dataset return such pairs."
        )
    return item[0], item[1]


def _partitions(partitions: Any, name: str) -> Iterator[tuple[Any, Any]]:
    if type(partitions).__name__ == "DatasetDict":
        raise DataError(
            f"The clients of '{name}' are a DatasetDict, whose splits are not clients: give one of "
            "its splits to a partitioner, or a plain dict of datasets by client."
        )
    if not hasattr(partitions, "load_partition"):
        yield from _by_client(partitions, name, "or a partitioner of flwr-datasets").items()
        return
    partitioner, partition = _partitioner(partitions, name), 0
    try:
        number = partitioner.num_partitions
        clients = getattr(partitioner, "partition_id_to_natural_id", None) or range(number)
        for partition in range(number):
            yield clients[partition], partitioner.load_partition(partition)
    except Exception as error:  # other people's code may raise anything
        raise DataError(
            f"The {type(partitioner).__name__} of '{name}' cannot give its partition {partition} "
            f"({reason(error)}): change its settings."
        ) from error


def _partitioner(given: Any, name: str) -> Any:
    """Return a partitioner that has its dataset."""
    several = getattr(given, "partitioners", None)
    if several is not None and len(several) != 1:
        raise DataError(
            f"'{name}' is a FederatedDataset with partitioners for {', '.join(several)}: give one "
            "of its partitioners, and another as test= if you like."
        )
    partitioner = given if several is None else next(iter(several.values()))
    if not partitioner.is_dataset_assigned():
        raise DataError(
            f"The {type(partitioner).__name__} of '{name}' has no dataset yet: give it one, "
            "partitioner.dataset = ..., before you pass it."
        )
    return partitioner


def _features(dataset: Any, name: str) -> Mapping[str, Any]:
    features = getattr(dataset, "features", None)
    if not isinstance(features, Mapping):
        raise DataError(
            f"The partitions of '{name}' must be datasets.Dataset objects, not "
            f"{type(dataset).__name__}: use from_dataset for PyTorch datasets."
        )
    return features


def _only(
    types: Mapping[str, str], kinds: Sequence[str], argument: str, what: str, name: str
) -> str:
    found = [column for column, kind in types.items() if kind in kinds]
    if len(found) != 1:
        raise DataError(
            f"'{name}' has {len(found)} columns {what} among {', '.join(types)}: choose with "
            f"{argument}=."
        )
    return found[0]


class _Pairs:
    """A dataset of pairs from the chosen columns; several ``features`` make one example."""

    def __init__(self, dataset: Any, features: Columns, label: str, client: Any, name: str) -> None:
        has = _features(dataset, name)
        several = [features] if isinstance(features, str) else features
        chosen = [*dict.fromkeys([*several, label])]
        for column in chosen:
            if column not in has:
                raise DataError(
                    f"Client {short_repr(client)} of '{name}' has no column {short_repr(column)} "
                    f"among {', '.join(has)}: rename one, or choose others with features= and "
                    "label=."
                )
        # A custom transform may need columns that were not chosen.
        plain = dataset.format["type"] != "custom"
        self.dataset = dataset.select_columns(chosen) if plain else dataset
        self.features, self.label = features, label

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        row = self.dataset[index]
        if isinstance(self.features, str):
            return row[self.features], row[self.label]
        return np.asarray([row[column] for column in self.features]), row[self.label]
