"""The nodes' own data: a stand-in for the server, and how a node reads its files.

The files are ``.npz``, IDX or LEAF. They are read without pickles.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flexcfl.data import Federation, IndexLists, from_leaf, npz
from flexcfl.data.client_lists import offsets_of
from flexcfl.data.federation import placeholder_federation
from flexcfl.data.files import is_file, is_forbidden, permission_error
from flexcfl.data.images import read_idx
from flexcfl.data.user_data import ClientData, Pair, RawExamples, arrays_that_fit
from flexcfl.errors import DataError, SettingsError
from flexcfl.experiment.experiment import Experiment, NetworkSettings
from flexcfl.experiment.layers import SettingsLayer, merged
from flexcfl.experiment.objects import NO_OBJECTS, UserObjects
from flexcfl.protocol import Ids
from flexcfl.settings import validated
from flexcfl.trust.faults import Faults

IDX_PARTS = ("train", "t10k")  # as in the file names of MNIST
BRIGHTEST = np.float32(255)


def stand_in_objects(layers: Sequence[SettingsLayer]) -> UserObjects:
    """Return a stand-in for the nodes' own data, or no objects if they use a known dataset."""
    tables = merged(layers).tables
    network = validated(NetworkSettings, tables["network"], "[network]")
    if network.clients is None or network.shape is None or network.classes is None:
        return NO_OBJECTS
    name = tables["data"].get("name", "own")
    return UserObjects(
        placeholder_federation(str(name), network.clients, network.shape, network.classes)
    )


def check_not_simulated(experiment: Experiment) -> None:
    """Raise ``SettingsError`` if clients with their own data are to have simulated events."""
    if not experiment.network.own_files:
        return
    simulated = {
        "[shift]": bool(experiment.shift),
        "[data] arrivals": bool(experiment.data.arrivals),
        "[faults]": experiment.faults != Faults(),
        "[attack]": experiment.attackers is not None,
    }
    for name, used in simulated.items():
        if used:
            raise SettingsError(
                f"{name} is simulated, and the nodes of this experiment have their own data "
                "([network] clients): leave it out."
            )


def own_federation(path: Path, clients: Ids, like: Federation) -> Federation:
    """Return a federation like ``like``, with the data of these clients from a file or a folder.

    Each client keeps its number, because its random draws depend on it.
    """
    holdings = _read(path, clients, like.shape)
    if len(holdings) != len(clients):
        raise DataError(
            f"'{path}' has the data of {len(holdings)} clients, and this node hosts "
            f"{len(clients)}: correct --node-config files or clients."
        )
    train = [_fit_shape(each.train, like) for each in holdings]
    for own, (_, y) in zip(holdings, train, strict=True):
        if not len(y):
            raise DataError(f"{own.train.subject} has no training example: a client needs one.")
    test = [
        _no_examples(like) if own.test is None else _fit_shape(own.test, like) for own in holdings
    ]
    return _assembled(clients, train, test, like)


def _read(path: Path, clients: Ids, shape: tuple[int, ...]) -> list[ClientData]:
    if is_forbidden(path):
        raise permission_error(path)
    if is_file(path):
        return [_read_npz(path)]
    if not path.is_dir():
        raise DataError(
            f"There is no '{path}': set --node-config files to an .npz file, or to a folder as "
            "docs/nodes.md says."
        )
    if (path / "train").is_dir():
        return _read_leaf(path, shape)
    if _is_idx(path):
        train, test = (_idx_part(path, part) for part in IDX_PARTS)
        return [ClientData(train, test)]
    return [_read_npz(path / f"{client}.npz") for client in clients.tolist()]


def _fit_shape(examples: RawExamples, like: Federation) -> Pair:
    return arrays_that_fit(examples, like.shape, like.classes, "the experiment", "[network]")


def _no_examples(like: Federation) -> Pair:
    return np.empty((0, *like.shape), dtype=np.float32), np.empty(0, dtype=np.int64)


def _assembled(
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
    """Return lists of consecutive indices from ``first`` on for these clients, [0] for others."""
    number, mine = np.ones(total, dtype=np.int64), np.zeros(total, dtype=np.bool_)
    number[clients], mine[clients] = sizes, True
    indices = np.zeros(number.sum(), dtype=np.int64)
    indices[np.repeat(mine, number)] = np.arange(first, first + sizes.sum())
    return IndexLists(indices, offsets_of(number))


def _read_npz(path: Path) -> ClientData:
    """Read one client: ``x_train`` and ``y_train``, and optionally ``x_test`` and ``y_test``."""
    if not is_file(path):
        raise DataError(
            f"There is no file '{path}': put the data of that client there, or correct "
            "--node-config files."
        )
    return npz.read_npz(path, f"'{path}'", allow_unsplit=False)


def _is_idx(folder: Path) -> bool:
    """Return whether a folder holds files with the names of MNIST's."""
    return any(_idx_path(folder, f"{part}-images-idx3") is not None for part in IDX_PARTS)


def _idx_part(folder: Path, part: str) -> RawExamples:
    """Read images and labels, and scale the bytes of the images to numbers from 0 to 1."""
    names = f"{part}-images-idx3", f"{part}-labels-idx1"
    images, labels = (_idx_path(folder, name) for name in names)
    if images is None or labels is None:
        missing = names[1] if labels is None else names[0]
        raise DataError(
            f"'{folder}' lacks {missing}-ubyte (plain or .gz): put all four IDX files there, or "
            "correct --node-config files."
        )
    return RawExamples(f"'{images}'", read_idx(images, 3) / BRIGHTEST, read_idx(labels, 1))


def _idx_path(folder: Path, name: str) -> Path | None:
    paths = (folder / f"{name}-ubyte{end}" for end in ("", ".gz"))
    return next(filter(is_file, paths), None)


def _read_leaf(folder: Path, shape: tuple[int, ...]) -> list[ClientData]:
    """Read the users of a LEAF folder in their order, and give flat examples their shape."""
    federation = from_leaf(folder, shape)

    def part(name: str, rows: NDArray[np.int64]) -> RawExamples:
        return RawExamples(f"'{folder / name}'", federation.x[rows], federation.y[rows])

    return [
        ClientData(part("train", train), part("test", test))
        for train, test in zip(federation.train, federation.test, strict=True)
    ]
