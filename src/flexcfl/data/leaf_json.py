"""The JSON files of LEAF: who is in them, checked so that a mistake names its file and user.

A file is ``{"users": [names], "user_data": {name: {"x": [examples], "y": [labels]}}}``, perhaps
with ``"num_samples": [counts]``; FedProx writes the same.
"""

import json
import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexcfl.data.division import MOST_CLASSES
from flexcfl.data.files import forbidden, is_file
from flexcfl.errors import DataError
from flexcfl.settings import shown

__all__ = ["MOST_DIMENSIONS", "User", "read_users", "refused"]

Shape: TypeAlias = tuple[int, ...]

MOST_DIMENSIONS = 32  # of all versions of NumPy


@dataclass(frozen=True, eq=False)
class User:
    """One user's examples and labels, and the file that they are from."""

    name: str
    file: Path
    x: NDArray[np.float32]
    y: NDArray[np.int64]


def read_users(folder: Path, shape: Shape | None) -> dict[str, User]:
    """Read the users of all ``*.json`` files of a folder, in the order of the files' names."""
    files = _files(folder)
    if not files:
        raise DataError(
            f"There is no *.json file in '{folder}': a LEAF dataset is a folder that holds the "
            "folders 'train' and 'test', both with such files."
        )
    users: dict[str, User] = {}
    for file in files:
        for user in _users_of(file, shape):
            if user.name in users:
                raise refused(user.name, file, f"is in '{users[user.name].file}' as well")
            users[user.name] = user
    return users


def refused(name: str, file: Path, problem: str) -> DataError:
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


def _users_of(file: Path, shape: Shape | None) -> list[User]:
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
            raise refused(name, file, "is not exactly once in both 'users' and 'user_data'")
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


def _check_counts(users: list[User], file: Path, counts: object) -> None:
    actual = [len(user.y) for user in users]
    if counts is None or counts == actual:
        return
    if not isinstance(counts, list) or len(counts) != len(actual):
        raise DataError(f"'{file}' needs one number per user in 'num_samples', or none at all.")
    for user, count in zip(users, counts, strict=True):
        if count != len(user.y):
            raise refused(
                user.name, file, f"has {len(user.y)} labels but {shown(count)} 'num_samples'"
            )


def _user(name: str, file: Path, data: object, shape: Shape | None) -> User:
    if not (isinstance(data, dict) and {"x", "y"} <= set(data)):
        raise refused(name, file, "has no 'x' and 'y'")
    for key in ("x", "y"):
        _demand_no_text(name, file, key, data[key])
    y, x = _labels(name, file, data["y"]), _numbers(data["x"])
    if x is None or (len(x) and x.ndim < 2):
        raise refused(name, file, "has in 'x' something other than equally long lists of numbers")
    if len(x) != len(y):
        raise refused(name, file, f"has {len(x)} examples but {len(y)} labels")
    if 0 in x.shape[1:]:
        raise refused(name, file, "has an example without a single number")
    with np.errstate(over="ignore"):
        x = x.astype(np.float32)
    if not np.isfinite(x).all():
        raise refused(name, file, "has a number in 'x' that is not finite")
    if shape is None or len(x) == 0:
        return User(name, file, x, y)
    if x[0].size != math.prod(shape):
        raise refused(name, file, f"has examples of {x[0].size} numbers, which is not {shape}")
    return User(name, file, x.reshape(len(x), *shape), y)


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
        raise refused(
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
