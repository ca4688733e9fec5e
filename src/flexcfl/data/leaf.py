"""Any dataset in the JSON of LEAF and FedProx: a folder with ``train`` and ``test`` in it.

Every user is a client. Reference: Caldas et al., "LEAF: A Benchmark for Federated Settings", 2018.
"""

from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from flexcfl.data.division import classes_of
from flexcfl.data.federation import Federation, IndexLists
from flexcfl.data.leaf_json import MOST_DIMENSIONS, User, read_users, refused
from flexcfl.data.options import FORBID, Count, FolderOptions
from flexcfl.errors import DataError
from flexcfl.settings import keywords, shown

__all__ = ["LeafOptions", "from_leaf", "load_leaf"]


@dataclass(frozen=True, config=FORBID)
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
    """Read the users of both folders; the data ``folder`` of other sets has no part in it.

    Clients are the users of the training files in their order. One without test data is no
    mistake, one without training data is.
    """
    root = options.root()
    train = read_users(root / "train", options.shape)
    if not train:
        raise DataError(f"The files in '{root / 'train'}' name no user: add one.")
    test = read_users(root / "test", options.shape)
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
    return Federation("leaf", x, y, *parts, classes_of("leaf", y, None), names=tuple(train))


def _demand_training(train: dict[str, User], test: dict[str, User]) -> None:
    for user in train.values():
        if len(user.y) == 0:
            raise refused(user.name, user.file, "has no training example")
    for user in test.values():
        if user.name not in train:
            raise refused(user.name, user.file, "is in no training file")


def _demand_one_shape(users: list[User]) -> None:
    shape = users[0].x.shape[1:]
    for user in users:
        if user.x.shape[1:] != shape:
            raise refused(
                user.name,
                user.file,
                f"has examples of shape {user.x.shape[1:]}, user {shown(users[0].name)} of {shape}",
            )
