"""The ``.npz`` file of one client: examples and labels, divided or not, read without pickles."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

from flexcfl.data.files import forbidden, is_file
from flexcfl.data.holdings import Examples, Holding
from flexcfl.errors import DataError, reason

__all__ = ["read_npz"]

PARTS = ("train", "test")
DIVIDED = [f"{axis}_{part}" for part in PARTS for axis in "xy"]
WHOLE = ["x", "y"]


def read_npz(path: Path, where: str, *, whole: bool) -> Holding:
    """Read one client: ``x_train`` and ``y_train``, and perhaps ``x_test`` and ``y_test``.

    Where ``whole`` will do, a file may have ``x`` and ``y`` instead, to be divided. ``where`` is
    how sentences on the file begin.
    """
    arrays = _arrays(path, where)
    if whole and list(arrays) == WHOLE:
        return Holding(Examples(where, arrays["x"], arrays["y"]), whole=True)
    parts = {
        part: Examples(where, arrays[f"x_{part}"], arrays[f"y_{part}"])
        for part in PARTS
        if {f"x_{part}", f"y_{part}"} <= arrays.keys()
    }
    # One without the other is an oversight, which is not to go unnoticed.
    alone = [name for name in arrays if name[2:] not in parts and (whole or name not in WHOLE)]
    if "train" not in parts or alone:
        raise _lacking(where, arrays, whole)
    return Holding(parts["train"], parts.get("test"))


def _lacking(where: str, arrays: dict[str, NDArray[Any]], whole: bool) -> DataError:
    has = ", ".join(arrays) or "none of them"
    instead = " (or x and y alone, to be divided)" if whole else ""
    return DataError(
        f"{where} needs the arrays x_train and y_train, and x_test and y_test or neither of "
        f"these{instead}, and has {has}: write it with numpy.savez(file, x_train=..., "
        "y_train=...)."
    )


def _arrays(path: Path, where: str) -> dict[str, NDArray[Any]]:
    """Return those arrays of a file that have a meaning, always in the same order."""
    if not is_file(path):
        raise DataError(f"{where} is no regular file: replace it by one, or take it away.")
    try:
        with path.open("rb") as stream:
            stored = np.load(stream, allow_pickle=False)
            if not isinstance(stored, NpzFile):
                raise ValueError("it is a single array")
            return {name: np.asarray(stored[name]) for name in WHOLE + DIVIDED if name in stored}
    except PermissionError:
        raise forbidden(path) from None
    except Exception as error:  # what is damaged may make zipfile and NumPy raise anything
        raise DataError(
            f"{where} cannot be read as .npz ({reason(error)}): write it again with numpy.savez, "
            "of arrays of numbers alone."
        ) from None
