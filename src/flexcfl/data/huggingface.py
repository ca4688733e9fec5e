"""A federation from datasets of Hugging Face, one for each client, or a partitioner of Flower's.

Neither package is imported here: whoever has such objects has them (``flexcfl[datasets]``).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from flexcfl.data.federation import Federation
from flexcfl.data.torch_datasets import by_client, from_dataset
from flexcfl.errors import DataError, reason
from flexcfl.settings import keywords, shown

__all__ = ["from_partitions"]

Columns: TypeAlias = str | Sequence[str]

ARRAYS = ("Image", "Array2D", "Array3D", "Array4D", "Array5D", "List", "LargeList", "Sequence")


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
    """Return a federation of ``datasets.Dataset`` objects, a partition for each client.

    Images become numbers from 0 to 1 with their channels first. The owners of a
    ``NaturalIdPartitioner`` become the names of the clients.

    Args:
        partitions: A mapping from clients' names to datasets, a list of datasets, a ``Partitioner``
            of flwr-datasets that has its dataset, or a ``FederatedDataset`` with one partitioner.
        features: The column of the examples, or several columns of numbers, of which each example
            is put together; by default the one column of images or arrays.
        label: The column of the labels; by default the one of type ``ClassLabel``.
        test: Partitions to test with, given in any of these ways, for the same clients. Without
            it, each client's examples are divided at random.
        name: What the federation is called.
        test_share: The share of a client's examples that is drawn to test with.
        seed: The seed of that draw.
        classes: The number of classes; by default that of the ``ClassLabel``, or else the largest
            label plus one.

    """
    train = dict(_partitions(partitions, name))
    tests = None if test is None else dict(_partitions(test, name))
    first = next(iter(train.values()))
    columns = _columns(first, features, label, name)
    if classes is None:
        classes = getattr(first.features.get(columns.label), "num_classes", None)
    return from_dataset(
        {client: _rows(each, columns, client, name) for client, each in train.items()},
        test=tests and {each: _rows(tests[each], columns, each, name) for each in tests},
        name=name,
        test_share=test_share,
        seed=seed,
        classes=classes,
    )


def _partitions(partitions: Any, name: str) -> Iterator[tuple[Any, Any]]:
    if type(partitions).__name__ == "DatasetDict":
        raise DataError(
            f"The clients of '{name}' are a DatasetDict, whose splits are not clients: give one of "
            "its splits to a partitioner, or a plain dict of datasets by client."
        )
    if not hasattr(partitions, "load_partition"):
        yield from by_client(partitions, name, "or a partitioner of flwr-datasets").items()
        return
    partitioner, partition = _partitioner(partitions, name), 0
    try:
        number = partitioner.num_partitions
        clients = getattr(partitioner, "partition_id_to_natural_id", None) or range(number)
        for partition in range(number):
            yield clients[partition], partitioner.load_partition(partition)
    except Exception as error:  # of code that is not ours, which says what it wants
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
            "partitioner.dataset = ..., before its partitions are asked for."
        )
    return partitioner


@dataclass(frozen=True)
class _Columns:
    """Where examples and labels are; several ``features`` make one example, ``alone`` is one."""

    features: tuple[str, ...]
    alone: bool
    label: str


def _columns(dataset: Any, features: Columns | None, label: str | None, name: str) -> _Columns:
    types = {column: type(each).__name__ for column, each in _features(dataset, name).items()}
    if label is None:
        label = _only(types, ("ClassLabel",), "label", "of type ClassLabel", name)
    if features is None:
        features = _only(types, ARRAYS, "features", "of images or arrays", name)
    if isinstance(features, str):
        return _Columns((features,), True, label)
    return _Columns(tuple(features), False, label)


def _features(dataset: Any, name: str) -> Mapping[str, Any]:
    features = getattr(dataset, "features", None)
    if not isinstance(features, Mapping):
        raise DataError(
            f"The partitions of '{name}' must be datasets.Dataset objects, not "
            f"{type(dataset).__name__}: for datasets of PyTorch there is from_dataset."
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


def _rows(dataset: Any, columns: _Columns, client: Any, name: str) -> "_Rows":
    """Return a dataset of pairs, or say which column it lacks."""
    has = _features(dataset, name)
    for column in (*columns.features, columns.label):
        if column not in has:
            raise DataError(
                f"Client {shown(client)} of '{name}' has no column {shown(column)} among "
                f"{', '.join(has)}: rename one, or choose others with features= and label=."
            )
    return _Rows(dataset, columns)


class _Rows:
    """A dataset of pairs, of the chosen columns alone."""

    def __init__(self, dataset: Any, columns: _Columns) -> None:
        chosen = [*dict.fromkeys([*columns.features, columns.label])]
        # The user's own transform may need columns that were not chosen.
        plain = dataset.format["type"] != "custom"
        self.dataset = dataset.select_columns(chosen) if plain else dataset
        self.columns = columns

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        row, columns = self.dataset[index], self.columns
        values = [row[column] for column in columns.features]
        return values[0] if columns.alone else np.asarray(values), row[columns.label]
