"""Any dataset in the JSON format of LEAF and FedProx: a folder that holds ``train`` and ``test``.

Every user is a client. Reference: Caldas et al., "LEAF: A Benchmark for Federated Settings", 2018.
A file is ``{"users": [names], "user_data": {name: {"x": [examples], "y": [labels]}}}``, with an
optional ``"num_samples": [counts]``; FedProx writes the same format.
"""

import json
import math
from collections import Counter
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from pydantic.dataclasses import dataclass

from flexcfl.data.federation import Federation
from flexcfl.data.files import files_matching, is_file, permission_error
from flexcfl.data.options import FORBID, Count, FolderOptions
from flexcfl.data.user_data import (
    MOST_CLASSES,
    ClientPart,
    RawExamples,
    checked_arrays,
    federation_of_parts,
)
from flexcfl.errors import DataError
from flexcfl.settings import keywords, short_repr

Shape: TypeAlias = tuple[int, ...]

MOST_DIMENSIONS = 32  # what every version of NumPy supports


@dataclass(frozen=True, config=FORBID)
class LeafOptions(FolderOptions):
    """Settings of ``leaf``.

    ``folder`` holds ``train`` and ``test`` and must be given. ``shape`` is the shape of one example
    if it is stored flat: ``[1, 28, 28]`` turns lists of 784 numbers into grey images, as a
    convolutional network expects them.
    """

    content = "that holds 'train' and 'test'"

    shape: Annotated[tuple[Count, ...], Field(max_length=MOST_DIMENSIONS - 1)] | None = None


@keywords()
def from_leaf(folder: Path | str, shape: tuple[int, ...] | None = None) -> Federation:
    """Read a federation in the JSON format of LEAF; every user becomes a client.

    Args:
        folder: The folder that holds ``train`` and ``test``, both with ``*.json`` files.
        shape: The shape of one example if it is stored flat, such as ``(1, 28, 28)``.

    Returns:
        The federation, with the users of the training files as clients.

    Raises:
        DataError: If a file is damaged or a user has no training example.

    Example:
        federation = from_leaf("femnist/data", shape=(1, 28, 28))

    """
    return load_leaf(LeafOptions(Path(folder), shape))


def load_leaf(options: LeafOptions, folder: Path | None = None) -> Federation:
    """Read the users of both folders; the data ``folder`` of other datasets is not used.

    Clients are the users of the training files, in that order. A client may lack test data, but
    not training data.
    """
    root = options.root()
    train = _read_users(root / "train", options.shape)
    if not train:
        raise DataError(f"The files in '{root / 'train'}' name no user: add one.")
    test = _read_users(root / "test", options.shape)
    for name, user in test.items():
        if name not in train:
            raise _refused(user.subject, "is in no training file")
    clients = {name: client for client, name in enumerate(train)}
    # All training data come before all test data, both in the order of the clients.
    parts = [
        ClientPart(
            clients[name], folder == "test", users[name].subject, users[name].x, users[name].y
        )
        for folder, users in (("train", train), ("test", test))
        for name in train
        if name in users
    ]
    return federation_of_parts("leaf", parts, list(train))


def _read_users(folder: Path, shape: Shape | None) -> dict[str, RawExamples]:
    """Read the users of all ``*.json`` files of a folder, in the order of the file names."""
    files = files_matching(folder, "*.json")
    if not files:
        raise DataError(
            f"There is no *.json file in '{folder}': a LEAF dataset is a folder that holds the "
            "folders 'train' and 'test', both with such files."
        )
    users: dict[str, RawExamples] = {}
    file_of: dict[str, Path] = {}
    for file in files:
        for name, user in _users_of(file, shape).items():
            if name in users:
                raise _refused(user.subject, f"is in '{file_of[name]}' as well")
            users[name], file_of[name] = user, file
    return users


def _refused(subject: str, problem: str) -> DataError:
    """Return the error about a user of a file."""
    return DataError(f"{subject} {problem}: correct the file, or leave the user out.")


def _users_of(file: Path, shape: Shape | None) -> dict[str, RawExamples]:
    content = _content(file)
    names, data = content.get("users"), content.get("user_data")
    if not (isinstance(names, list) and isinstance(data, dict)):
        raise DataError(
            f"'{file}' needs a list 'users' and a table 'user_data': see LEAF's format."
        )
    if not all(isinstance(name, str | int) for name in names):
        raise DataError(f"'{file}' has in 'users' something other than names: correct the file.")
    times = Counter(map(str, names))
    subject = {name: f"User {short_repr(name)} in '{file}'" for name in [*times, *data]}
    for name in subject:
        if times[name] != 1 or name not in data:
            raise _refused(subject[name], "is not exactly once in both 'users' and 'user_data'")
    users = {name: _user(subject[name], data[name], shape) for name in times}
    _check_counts(list(users.values()), file, content.get("num_samples"))
    return users


def _content(file: Path) -> dict[str, Any]:
    if not is_file(file):
        raise DataError(f"'{file}' is not a regular file: replace it with one, or remove it.")
    try:
        content = json.loads(file.read_bytes())
    except PermissionError:
        raise permission_error(file) from None
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"'{file}' cannot be read as JSON ({error}): get it again.") from None
    return content if isinstance(content, dict) else {}


def _check_counts(users: list[RawExamples], file: Path, counts: object) -> None:
    actual = [len(user.y) for user in users]
    if counts is None or counts == actual:
        return
    if not isinstance(counts, list) or len(counts) != len(actual):
        raise DataError(f"'{file}' needs one number per user in 'num_samples', or none at all.")
    for user, count in zip(users, counts, strict=True):
        if count != len(user.y):
            raise _refused(
                user.subject, f"has {len(user.y)} labels but {short_repr(count)} 'num_samples'"
            )


def _user(subject: str, data: object, shape: Shape | None) -> RawExamples:
    if not (isinstance(data, dict) and {"x", "y"} <= set(data)):
        raise _refused(subject, "has no 'x' and 'y'")
    for key in ("x", "y"):
        _demand_no_text(subject, key, data[key])
    y, numbers = _labels(subject, data["y"]), _numbers(data["x"])
    if numbers is None or (len(numbers) and numbers.ndim < 2):
        raise _refused(subject, "has in 'x' something other than equally long lists of numbers")
    x, y = checked_arrays(RawExamples(subject, numbers, y))
    if 0 in x.shape[1:]:
        raise _refused(subject, "has an example without any number")
    if shape is not None and len(x):
        if x[0].size != math.prod(shape):
            raise _refused(subject, f"has examples of {x[0].size} numbers, which is not {shape}")
        x = x.reshape(len(x), *shape)
    return RawExamples(subject, x, y)


def _demand_no_text(subject: str, key: str, values: object) -> None:
    """Raise an error if the first value is text: the files are correct, but not supported."""
    while isinstance(values, list) and values:
        values = values[0]
    if isinstance(values, str):
        raise DataError(
            f"{subject} has text in '{key}', and only numbers are supported: encode the text as "
            "numbers first, such as each character or word as its index."
        )


def _labels(subject: str, values: object) -> NDArray[np.int64]:
    y = _numbers(values)
    if y is None or y.ndim != 1 or not ((y == np.floor(y)) & (y >= 0) & (y < MOST_CLASSES)).all():
        wanted = f"whole numbers from 0 to {MOST_CLASSES - 1}"
        raise _refused(subject, f"has in 'y' something other than {wanted}")
    return y.astype(np.int64)


def _numbers(values: object) -> NDArray[Any] | None:
    """Return an array, or None if the values are ragged or not all numbers.

    The first array holds objects: with one long string, NumPy would reserve its length for every
    value.
    """
    array = np.asarray(values, dtype=object)
    if not 0 < array.ndim <= MOST_DIMENSIONS or not set(map(type, array.flat)) <= {int, float}:
        return None
    try:
        return array.astype(np.float64)
    except OverflowError:  # an integer with hundreds of digits
        return None
