"""Files in which clients have data of their own: ``.npz``, IDX and LEAF, read without pickles."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

from flexcfl.data import leaf
from flexcfl.data.files import forbidden, is_file
from flexcfl.data.idx import read_idx
from flexcfl.errors import DataError

__all__ = ["Examples", "Holding", "is_idx", "read_idx_folder", "read_leaf", "read_npz"]

PARTS = {"train": "train", "test": "t10k"}  # and what they are called in the names of IDX files
BRIGHTEST = np.float32(255)


@dataclass(frozen=True, eq=False)
class Examples:
    """Examples and labels as they are in a ``file``, before anybody has looked at them."""

    file: Path
    x: NDArray[Any]
    y: NDArray[Any]


@dataclass(frozen=True, eq=False)
class Holding:
    """The data of one client; there may be none to test with."""

    train: Examples
    test: Examples | None = None


def read_npz(path: Path) -> Holding:
    """Read one client: ``x_train`` and ``y_train``, and perhaps ``x_test`` and ``y_test``."""
    arrays = _arrays(path)
    parts = {
        part: Examples(path, arrays[f"x_{part}"], arrays[f"y_{part}"])
        for part in PARTS
        if {f"x_{part}", f"y_{part}"} <= arrays.keys()
    }
    # One without the other is an oversight, which is not to go unnoticed.
    alone = [name for name in arrays if name.removeprefix("x_").removeprefix("y_") not in parts]
    if "train" not in parts or alone:
        has = ", ".join(arrays) or "none of them"
        raise DataError(
            f"'{path}' needs the arrays x_train and y_train, and x_test and y_test or neither of "
            f"these, and has {has}: write it with numpy.savez(file, x_train=..., y_train=...)."
        )
    return Holding(parts["train"], parts.get("test"))


def _arrays(path: Path) -> dict[str, NDArray[Any]]:
    if not is_file(path):
        raise DataError(
            f"There is no file '{path}': put the data of that client there, or correct "
            "--node-config files."
        )
    names = [f"{axis}_{part}" for part in PARTS for axis in "xy"]
    try:
        with path.open("rb") as stream:
            stored = np.load(stream, allow_pickle=False)
            if not isinstance(stored, NpzFile):
                raise ValueError("it is a single array")
            return {name: np.asarray(stored[name]) for name in names if name in stored}
    except PermissionError:
        raise forbidden(path) from None
    except Exception as error:  # what is damaged may make zipfile and NumPy raise anything
        reason = str(error).rstrip(".") or type(error).__name__
        raise DataError(
            f"'{path}' cannot be read as .npz ({reason}): write it again with numpy.savez, "
            "of arrays of numbers alone."
        ) from None


def is_idx(folder: Path) -> bool:
    """Tell whether a folder holds files of the names that MNIST's have."""
    return any(_idx_path(folder, word, "images", 3) is not None for word in PARTS.values())


def read_idx_folder(folder: Path) -> Holding:
    """Read one client from the four files, whose bytes become numbers from 0 to 1."""
    return Holding(*(_idx_part(folder, word) for word in PARTS.values()))


def _idx_part(folder: Path, word: str) -> Examples:
    paths = [_idx_path(folder, word, *kind) for kind in (("images", 3), ("labels", 1))]
    images, labels = paths
    if images is None or labels is None:
        missing = f"{word}-labels-idx1-ubyte" if labels is None else f"{word}-images-idx3-ubyte"
        raise DataError(
            f"'{folder}' lacks {missing} (plain or .gz): put all four IDX files there, or correct "
            "--node-config files."
        )
    return Examples(images, read_idx(images, 3) / BRIGHTEST, read_idx(labels, 1))


def _idx_path(folder: Path, word: str, kind: str, dimensions: int) -> Path | None:
    name = f"{word}-{kind}-idx{dimensions}-ubyte"
    return next((path for end in ("", ".gz") if is_file(path := folder / f"{name}{end}")), None)


def read_leaf(folder: Path, shape: tuple[int, ...]) -> list[Holding]:
    """Read the users of a LEAF folder, in their order; flat examples are given their shape."""
    federation = leaf(folder, shape)

    def part(name: str, rows: NDArray[np.int64]) -> Examples:
        return Examples(folder / name, federation.x[rows], federation.y[rows])

    return [
        Holding(part("train", train), part("test", test))
        for train, test in zip(federation.train, federation.test, strict=True)
    ]
