"""Files in which clients have data of their own: ``.npz``, IDX and LEAF, read without pickles."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flexcfl.data import from_leaf, npz
from flexcfl.data.files import is_file
from flexcfl.data.images import read_idx
from flexcfl.data.user_data import Examples, Holding
from flexcfl.errors import DataError

__all__ = ["is_idx", "read_idx_folder", "read_leaf", "read_npz"]

PARTS = {"train": "train", "test": "t10k"}  # and what they are called in the names of IDX files
BRIGHTEST = np.float32(255)


def read_npz(path: Path) -> Holding:
    """Read one client: ``x_train`` and ``y_train``, and perhaps ``x_test`` and ``y_test``."""
    if not is_file(path):
        raise DataError(
            f"There is no file '{path}': put the data of that client there, or correct "
            "--node-config files."
        )
    return npz.read_npz(path, f"'{path}'", whole=False)


def is_idx(folder: Path) -> bool:
    """Tell whether a folder holds files of the names that MNIST's have."""
    return any(_idx_path(folder, word, "images", 3) is not None for word in PARTS.values())


def read_idx_folder(folder: Path) -> Holding:
    """Read one client from the four files, whose bytes become numbers from 0 to 1."""
    train, test = (_idx_part(folder, word) for word in PARTS.values())
    return Holding(train, test)


def _idx_part(folder: Path, word: str) -> Examples:
    paths = [_idx_path(folder, word, *kind) for kind in (("images", 3), ("labels", 1))]
    images, labels = paths
    if images is None or labels is None:
        missing = f"{word}-labels-idx1-ubyte" if labels is None else f"{word}-images-idx3-ubyte"
        raise DataError(
            f"'{folder}' lacks {missing} (plain or .gz): put all four IDX files there, or correct "
            "--node-config files."
        )
    return Examples(f"'{images}'", read_idx(images, 3) / BRIGHTEST, read_idx(labels, 1))


def _idx_path(folder: Path, word: str, kind: str, dimensions: int) -> Path | None:
    name = f"{word}-{kind}-idx{dimensions}-ubyte"
    return next((path for end in ("", ".gz") if is_file(path := folder / f"{name}{end}")), None)


def read_leaf(folder: Path, shape: tuple[int, ...]) -> list[Holding]:
    """Read the users of a LEAF folder, in their order; flat examples are given their shape."""
    federation = from_leaf(folder, shape)

    def part(name: str, rows: NDArray[np.int64]) -> Examples:
        return Examples(f"'{folder / name}'", federation.x[rows], federation.y[rows])

    return [
        Holding(part("train", train), part("test", test))
        for train, test in zip(federation.train, federation.test, strict=True)
    ]
