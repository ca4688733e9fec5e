"""A federation from a folder of ``.npz`` files, one for each client, read without pickles."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray
from pydantic.dataclasses import dataclass

from flexcfl.data.federation import Federation
from flexcfl.data.files import files_matching, is_file, permission_error
from flexcfl.data.options import FORBID, FolderOptions, Seed, Share
from flexcfl.data.user_data import ClientData, RawExamples, SplitOptions, federation_of_clients
from flexcfl.errors import DataError, reason
from flexcfl.settings import keywords, short_repr, validated

__all__ = ["NpzOptions", "count_npz", "from_folder", "load_npz", "read_npz"]

WHOLE = ("x", "y")
TRAIN, TEST = ("x_train", "y_train"), ("x_test", "y_test")


@dataclass(frozen=True, config=FORBID)
class NpzOptions(FolderOptions):
    """Settings of ``npz``.

    ``folder`` holds a file for each client and must be given. Where a file has ``x`` and ``y``
    alone, ``test_share`` of its examples are drawn by ``seed`` to test with.
    """

    content = "that holds an .npz file for each client"

    test_share: Share = 0.2
    seed: Seed = 0


@keywords()
def from_folder(
    folder: Path | str,
    *,
    name: str = "npz",
    test_share: float = 0.2,
    seed: int = 0,
    classes: int | None = None,
) -> Federation:
    """Read a federation from a folder with an ``.npz`` file for each client.

    A client is called as its file is, without the ending. Clients are in the order of these names,
    or of the numbers where all of them are numbers.

    Args:
        folder: The folder. Each file has the arrays ``x_train`` and ``y_train``, and perhaps
            ``x_test`` and ``y_test``; or else ``x`` and ``y``, which are divided at random.
        name: What the federation is called.
        test_share: The share of a client's examples that is drawn to test with.
        seed: The seed of that draw.
        classes: The number of classes; by default the largest label plus one.

    """
    division = validated(SplitOptions, {"test_share": test_share, "seed": seed}, "from_folder")
    data = {
        file.stem: read_npz(file, f"Client {short_repr(file.stem)} ('{file}')", whole=True)
        for file in _files(Path(folder))
    }
    return federation_of_clients(name, data, division, classes)


def load_npz(options: NpzOptions, folder: Path | None = None) -> Federation:
    """Read the folder of the settings; the data ``folder`` of other sets is not used."""
    return from_folder(options.root(), test_share=options.test_share, seed=options.seed)


def count_npz(options: NpzOptions) -> int | None:
    """Return how many clients there are, without reading their files, if that can be seen."""
    try:
        return len(_files(options.root()))
    except DataError:  # it is raised again when they are to be read
        return None


def _files(folder: Path) -> list[Path]:
    listed = files_matching(folder, "*.npz")
    if listed is None:
        raise DataError(
            f"There is no folder '{folder}': name one with an .npz file for each client, written "
            "with numpy.savez(file, x_train=..., y_train=...)."
        )
    # Systems leave files behind whose names begin with a dot.
    found = [path for path in listed if not path.name.startswith(".")]
    if not found:
        raise DataError(
            f"There is no .npz file in '{folder}': put one for each client there, written with "
            "numpy.savez(file, x_train=..., y_train=...)."
        )
    numbered = all(path.stem.isdecimal() for path in found)
    return sorted(found, key=lambda path: (int(path.stem) if numbered else 0, path.stem))


def read_npz(path: Path, where: str, *, whole: bool) -> ClientData:
    """Read one client: ``x_train`` and ``y_train``, and perhaps ``x_test`` and ``y_test``.

    Where ``whole`` will do, a file may have ``x`` and ``y`` instead, to be divided. ``where`` is
    how sentences on the file begin.
    """
    arrays = _arrays(path, where)
    names = [name for name in arrays if whole or name not in WHOLE]
    if names == [*WHOLE]:
        return ClientData(RawExamples(where, arrays["x"], arrays["y"]), whole=True)
    # One of two without the other is an oversight, which is not to go unnoticed.
    if names not in ([*TRAIN], [*TRAIN, *TEST]):
        raise _lacking(where, arrays, whole)
    train = RawExamples(where, arrays["x_train"], arrays["y_train"])
    test = RawExamples(where, arrays["x_test"], arrays["y_test"]) if "x_test" in names else None
    return ClientData(train, test)


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
            known = (*WHOLE, *TRAIN, *TEST)
            return {name: np.asarray(stored[name]) for name in known if name in stored}
    except PermissionError:
        raise permission_error(path) from None
    except Exception as error:  # what is damaged may make zipfile and NumPy raise anything
        raise DataError(
            f"{where} cannot be read as .npz ({reason(error)}): write it again with numpy.savez, "
            "of arrays of numbers alone."
        ) from None
