"""A federation in which a node's clients have data of their own, and all others a blank example."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from flexcfl.data import Federation, IndexLists
from flexcfl.data.client_lists import offsets_of
from flexcfl.data.files import barred, forbidden, is_file
from flexcfl.data.user_data import Examples, Holding, Pair, fitted
from flexcfl.errors import DataError
from flexcfl.flower.formats import is_idx, read_idx_folder, read_leaf, read_npz
from flexcfl.protocol import Ids

__all__ = ["own_federation"]


def own_federation(path: Path, clients: Ids, like: Federation) -> Federation:
    """Return ``like``, in which these clients have what is in a file, or in those of a folder.

    So everybody has the number that it has everywhere, on which what it draws depends.
    """
    holdings = _read(path, clients, like.shape)
    if len(holdings) != len(clients):
        raise DataError(
            f"'{path}' has the data of {len(holdings)} clients, and this node hosts "
            f"{len(clients)}: correct --node-config files or clients."
        )
    train = [_fitting(each.train, like) for each in holdings]
    for own, (_, y) in zip(holdings, train, strict=True):
        if not len(y):
            raise DataError(f"{own.train.where} has no training example: a client needs one.")
    test = [_nothing(like) if own.test is None else _fitting(own.test, like) for own in holdings]
    return _put_together(clients, train, test, like)


def _read(path: Path, clients: Ids, shape: tuple[int, ...]) -> list[Holding]:
    if barred(path):
        raise forbidden(path)
    if is_file(path):
        return [read_npz(path)]
    if not path.is_dir():
        raise DataError(
            f"There is no '{path}': let --node-config files name an .npz file, or a folder as "
            "docs/nodes.md says."
        )
    if (path / "train").is_dir():
        return read_leaf(path, shape)
    if is_idx(path):
        return [read_idx_folder(path)]
    return [read_npz(path / f"{client}.npz") for client in clients.tolist()]


def _fitting(examples: Examples, like: Federation) -> Pair:
    return fitted(examples, like.shape, like.classes, "the experiment", "[network]")


def _nothing(like: Federation) -> Pair:
    return np.empty((0, *like.shape), dtype=np.float32), np.empty(0, dtype=np.int64)


def _put_together(
    clients: Ids, train: Sequence[Pair], test: Sequence[Pair], like: Federation
) -> Federation:
    blank = np.zeros((1, *like.shape), dtype=np.float32), np.zeros(1, dtype=np.int64)
    x, y = (np.concatenate(column) for column in zip(blank, *train, *test, strict=True))
    learning, testing = (np.array([len(own) for _, own in part]) for part in (train, test))
    first = int(learning.sum()) + 1
    return Federation(
        like.name,
        x,
        y,
        _lists(clients, learning, 1, like.clients),
        _lists(clients, testing, first, like.clients),
        like.classes,
    )


def _lists(clients: Ids, sizes: Ids, first: int, total: int) -> IndexLists:
    """Return lists of which some follow each other from ``first`` on, and all others are [0]."""
    number, mine = np.ones(total, dtype=np.int64), np.zeros(total, dtype=np.bool_)
    number[clients], mine[clients] = sizes, True
    indices = np.zeros(number.sum(), dtype=np.int64)
    indices[np.repeat(mine, number)] = np.arange(first, first + sizes.sum())
    return IndexLists(indices, offsets_of(number))
