"""The registry of datasets: a description, the settings and a loader for each name."""

import dataclasses
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic.dataclasses import dataclass as pydantic_dataclass

from flexcfl.data.federation import Federation
from flexcfl.data.files import SOURCES, Source
from flexcfl.data.image_datasets import (
    DigitsOptions,
    FashionOptions,
    FemnistOptions,
    MnistOptions,
    load_digits,
    load_fashion,
    load_femnist,
    load_mnist,
)
from flexcfl.data.leaf import LeafOptions, load_leaf
from flexcfl.data.npz import NpzOptions, count_npz, load_npz
from flexcfl.data.options import FORBID
from flexcfl.data.synthetic import ClustersOptions, SyntheticOptions, load_clusters, load_synthetic
from flexcfl.errors import DataError, SettingsError, unknown
from flexcfl.extensions import RAISED, Registry, error_summary, summary_of
from flexcfl.settings import validated

OptionsT = TypeVar("OptionsT")


@dataclasses.dataclass(frozen=True)
class Dataset(Generic[OptionsT]):
    """A dataset that can be loaded by name.

    Attributes:
        name: The name under which it is loaded.
        what: A short description.
        clients: The default number of clients; None if the data decide it.
        options: The frozen dataclass of its settings.
        load: ``load(options, folder)`` returns the federation.
        source: The files to download; None if it needs none.
        count: ``count(options)`` returns the number of clients, or None if only loading tells.

    """

    name: str
    what: str
    clients: int | None
    options: type[OptionsT]
    load: Callable[[OptionsT, Path | None], Federation]
    source: Source | None = None
    count: Callable[[OptionsT], int | None] = lambda options: getattr(options, "clients", None)


ALL: tuple[Dataset[Any], ...] = (
    Dataset("digits", "handwritten digits, 8 x 8", 100, DigitsOptions, load_digits),
    Dataset("synthetic", "drawn at random, 60 numbers", 100, SyntheticOptions, load_synthetic),
    Dataset("clusters", "drawn from known clusters", 90, ClustersOptions, load_clusters),
    Dataset("mnist", "handwritten digits, 28 x 28", 1000, MnistOptions, load_mnist),
    Dataset("femnist", "handwritten a to j, 28 x 28", 200, FemnistOptions, load_femnist),
    Dataset("fashion-mnist", "clothing, 28 x 28", 500, FashionOptions, load_fashion),
    Dataset("leaf", "your own, in LEAF's JSON", None, LeafOptions, load_leaf),
    Dataset("npz", "your own, a file per client", None, NpzOptions, load_npz, count=count_npz),
)


@pydantic_dataclass(frozen=True, config=FORBID)
class NoDatasetOptions:
    """The settings of a dataset without settings."""


def _own(found: object) -> Dataset[Any]:
    """Return a custom dataset, from a function that returns a federation or from a ``Dataset``."""
    if isinstance(found, Dataset):
        return found
    if isinstance(found, type) and dataclasses.is_dataclass(found) and _is_called(found):
        return Dataset(found.__name__, summary_of(found), None, found, _called_itself)
    if not callable(found):
        raise TypeError(
            "must be a function without arguments that returns a flexcfl.data.Federation, or a "
            f"flexcfl.data.Dataset, not {found!r:.60}."
        )
    load = partial(_called, found)
    return Dataset(
        getattr(found, "__name__", "own"), summary_of(found), None, NoDatasetOptions, load
    )


def _is_called(kind: type[Any]) -> bool:
    return any("__call__" in each.__dict__ for each in kind.__mro__)


def _called_itself(options: Any, folder: Path | None) -> Federation:
    return _called(options, NoDatasetOptions(), folder)


def _called(
    function: Callable[[], object], _options: NoDatasetOptions, _folder: Path | None
) -> Federation:
    name = getattr(function, "__name__", "the dataset")
    try:
        made = function()
    except DataError:
        raise
    except RAISED as error:
        raise DataError(
            f"'{name}', which makes the dataset, failed ({error_summary(error)}): correct it."
        ) from error
    if not isinstance(made, Federation):
        raise DataError(
            f"'{name}', which makes the dataset, returned {type(made).__name__}: let it return a "
            "flexcfl.data.Federation, such as from flexcfl.data.from_arrays."
        )
    return made


OURS = {each.name: dataclasses.replace(each, source=SOURCES.get(each.name)) for each in ALL}
DATASETS = Registry("dataset", OURS, _own)
"""Every dataset by its name."""


def dataset_named(name: str) -> Dataset[Any]:
    """Return a dataset by name.

    Raises:
        SettingsError: If there is no such dataset; the message suggests the closest name.

    Example:
        >>> dataset_named("digits").clients
        100

    """
    if name not in DATASETS:
        raise SettingsError(unknown("dataset", name, DATASETS))
    return DATASETS[name]


def load_federation(name: str, folder: Path | str | None = None, **options: object) -> Federation:
    """Load a dataset by name.

    Args:
        name: One of ``DATASETS``, or your own dataset as ``package.module:function``.
        folder: The data folder, like ``--data`` on the command line. For ``leaf`` and ``npz``, the
            folder of the dataset itself.
        options: The settings of the dataset.

    Returns:
        The federation.

    Raises:
        SettingsError: If there is no such dataset, or it has no such setting.
        DataError: If its files are missing or damaged.

    Example:
        >>> load_federation("digits", partition="iid", clients=20).clients
        20

    """
    dataset = dataset_named(name)
    data = None if folder is None else Path(folder)
    has_folder = "folder" in {field.name for field in dataclasses.fields(dataset.options)}
    if data is not None and has_folder:
        options["folder"] = data
    return dataset.load(validated(dataset.options, options, name), data)
