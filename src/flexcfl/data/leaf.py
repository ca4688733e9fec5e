"""Any dataset in the JSON of LEAF and FedProx: a folder with ``train`` and ``test`` in it.

Every user is a client. Reference: Caldas et al., "LEAF: A Benchmark for Federated Settings", 2018.
A file is ``{"users": [names], "user_data": {name: {"x": [examples], "y": [labels]}}}``, perhaps
with ``"num_samples": [counts]``; FedProx writes the same.
"""

import json
import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from pydantic.dataclasses import dataclass as pydantic_dataclass

from flexcfl.data.assembly import MOST_CLASSES, number_of_classes
from flexcfl.data.client_lists import IndexLists
from flexcfl.data.federation import Federation
from flexcfl.data.files import forbidden, is_file
from flexcfl.data.options import FORBID, Count, FolderOptions
from flexcfl.errors import DataError
from flexcfl.settings import keywords, shown

__all__ = ["LeafOptions", "from_leaf", "load_leaf"]

Shape: TypeAlias = tuple[int, ...]

MOST_DIMENSIONS = 32  # of all versions of NumPy


@pydantic_dataclass(frozen=True, config=FORBID)
class LeafOptions(FolderOptions):
    """Settings of ``leaf``.

    ``folder`` holds ``train`` and ``test`` and must be given. ``shape`` is the shape of one example
    where it is stored flat: ``[1, 28, 28]`` turns lists of 784 numbers into grey images, which is
    what a convolutional network takes.
    """

    content = "that holds 'train' and 'test'"

    shape: Annotated[tuple[Count, ...], Field(max_length=MOST_DIMENSIONS - 1)] | None = None


@keywords()
def from_leaf(folder: Path | str, shape: tuple[int, ...] | None = None) -> Federation:
    """Read a federation in LEAF's format; ``shape`` is for flat images, such as (1, 28, 28)."""
    return load_leaf(LeafOptions(Path(folder), shape))


def load_leaf(options: LeafOptions, folder: Path | None = None) -> Federation:
    """Read the users of both folders; the data ``folder`` of other sets is not used.

    Clients are the users of the training files in their order. One without test data is no
    mistake, one without training data is.
    """
    root = options.root()
    train = _read_users(root / "train", options.shape)
    if not train:
        raise DataError(f"The files in '{root / 'train'}' name no user: add one.")
    test = _read_users(root / "test", options.shape)
    _demand_training(train, test)
    # Test users in the order of the training users, so that all lists follow each other.
    users = [*train.values(), *(test[name] for name in train if name in test)]
    full = [user for user in users if len(user.y)]
    _demand_one_shape(full)
    x = np.concatenate([user.x for user in full])
    y = np.concatenate([user.y for user in full])
    learning = [len(user.y) for user in train.values()]
    testing = [len(test[name].y) if name in test else 0 for name in train]
    lists = np.split(np.arange(len(y)), np.cumsum(learning + testing)[:-1])
    parts = IndexLists.of(lists[: len(train)]), IndexLists.of(lists[len(train) :])
    return Federation("leaf", x, y, *parts, number_of_classes("leaf", y, None), names=tuple(train))


@dataclass(frozen=True, eq=False)
class _User:
    """One user's examples and labels, and the file that they are from."""

    name: str
    file: Path
    x: NDArray[np.float32]
    y: NDArray[np.int64]


def _demand_training(train: dict[str, _User], test: dict[str, _User]) -> None:
    for user in train.values():
        if len(user.y) == 0:
            raise _refused(user.name, user.file, "has no training example")
    for user in test.values():
        if user.name not in train:
            raise _refused(user.name, user.file, "is in no training file")


def _demand_one_shape(users: list[_User]) -> None:
    shape = users[0].x.shape[1:]
    for user in users:
        if user.x.shape[1:] != shape:
            raise _refused(
                user.name,
                user.file,
                f"has examples of shape {user.x.shape[1:]}, user {shown(users[0].name)} of {shape}",
            )


def _read_users(folder: Path, shape: Shape | None) -> dict[str, _User]:
    """Read the users of all ``*.json`` files of a folder, in the order of the files' names."""
    files = _files(folder)
    if not files:
        raise DataError(
            f"There is no *.json file in '{folder}': a LEAF dataset is a folder that holds the "
            "folders 'train' and 'test', both with such files."
        )
    users: dict[str, _User] = {}
    for file in files:
        for user in _users_of(file, shape):
            if user.name in users:
                raise _refused(user.name, file, f"is in '{users[user.name].file}' as well")
            users[user.name] = user
    return users


def _refused(name: str, file: Path, problem: str) -> DataError:
    """Return the sentence on a user of a file."""
    return DataError(
        f"User {shown(name)} in '{file}' {problem}: mend the file, or leave the user out."
    )


def _files(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.match("*.json"))
    except PermissionError:
        raise forbidden(folder) from None
    except (OSError, ValueError):  # it is not there, no folder, or of a name that none can have
        return []


def _users_of(file: Path, shape: Shape | None) -> list[_User]:
    content = _content(file)
    names, data = content.get("users"), content.get("user_data")
    if not (isinstance(names, list) and isinstance(data, dict)):
        raise DataError(
            f"'{file}' needs a list 'users' and a table 'user_data': see LEAF's format."
        )
    if not all(isinstance(name, str | int) for name in names):
        raise DataError(f"'{file}' has in 'users' something other than names: mend the file.")
    names = [str(name) for name in names]
    times = Counter(names)
    for name in [*names, *data]:
        if times[name] != 1 or name not in data:
            raise _refused(name, file, "is not exactly once in both 'users' and 'user_data'")
    users = [_user(name, file, data[name], shape) for name in names]
    _check_counts(users, file, content.get("num_samples"))
    return users


def _content(file: Path) -> dict[str, Any]:
    if not is_file(file):
        raise DataError(f"'{file}' is no regular file: replace it by one, or take it away.")
    try:
        content = json.loads(file.read_bytes())
    except PermissionError:
        raise forbidden(file) from None
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"'{file}' cannot be read as JSON ({error}): get it again.") from None
    return content if isinstance(content, dict) else {}


def _check_counts(users: list[_User], file: Path, counts: object) -> None:
    actual = [len(user.y) for user in users]
    if counts is None or counts == actual:
        return
    if not isinstance(counts, list) or len(counts) != len(actual):
        raise DataError(f"'{file}' needs one number per user in 'num_samples', or none at all.")
    for user, count in zip(users, counts, strict=True):
        if count != len(user.y):
            raise _refused(
                user.name, file, f"has {len(user.y)} labels but {shown(count)} 'num_samples'"
            )


def _user(name: str, file: Path, data: object, shape: Shape | None) -> _User:
    if not (isinstance(data, dict) and {"x", "y"} <= set(data)):
        raise _refused(name, file, "has no 'x' and 'y'")
    for key in ("x", "y"):
        _demand_no_text(name, file, key, data[key])
    y, x = _labels(name, file, data["y"]), _numbers(data["x"])
    if x is None or (len(x) and x.ndim < 2):
        raise _refused(name, file, "has in 'x' something other than equally long lists of numbers")
    if len(x) != len(y):
        raise _refused(name, file, f"has {len(x)} examples but {len(y)} labels")
    if 0 in x.shape[1:]:
        raise _refused(name, file, "has an example without a single number")
    with np.errstate(over="ignore"):
        x = x.astype(np.float32)
    if not np.isfinite(x).all():
        raise _refused(name, file, "has a number in 'x' that is not finite")
    if shape is None or len(x) == 0:
        return _User(name, file, x, y)
    if x[0].size != math.prod(shape):
        raise _refused(name, file, f"has examples of {x[0].size} numbers, which is not {shape}")
    return _User(name, file, x.reshape(len(x), *shape), y)


def _demand_no_text(name: str, file: Path, key: str, values: object) -> None:
    """Refuse a dataset of texts by its first value: the files are right, yet not for us."""
    while isinstance(values, list) and values:
        values = values[0]
    if isinstance(values, str):
        raise DataError(
            f"User {shown(name)} in '{file}' has text in '{key}', and only numbers are supported: "
            "encode the text as numbers first, such as each character or word as its index."
        )


def _labels(name: str, file: Path, values: object) -> NDArray[np.int64]:
    y = _numbers(values)
    if y is None or y.ndim != 1 or not ((y == np.floor(y)) & (y >= 0) & (y < MOST_CLASSES)).all():
        raise _refused(
            name,
            file,
            f"has in 'y' something other than whole numbers from 0 to {MOST_CLASSES - 1}",
        )
    return y.astype(np.int64)


def _numbers(values: object) -> NDArray[Any] | None:
    """Return an array, or nothing where the values are ragged or not all numbers.

    As objects first, because one long text would make NumPy set aside its length for every number.
    """
    array = np.asarray(values, dtype=object)
    if not 0 < array.ndim <= MOST_DIMENSIONS or not set(map(type, array.flat)) <= {int, float}:
        return None
    try:
        return array.astype(np.float64)
    except OverflowError:  # a whole number of hundreds of digits
        return None
