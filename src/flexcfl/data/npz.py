"""A federation from a folder of ``.npz`` files, one for each client, read without pickle."""

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

WHOLE = ("x", "y")
TRAIN, TEST = ("x_train", "y_train"), ("x_test", "y_test")


@dataclass(frozen=True, config=FORBID)
class NpzOptions(FolderOptions):
    """Settings of ``npz``.

    ``folder`` holds a file for each client and must be given. If a file has only ``x`` and ``y``,
    ``test_share`` of its examples, drawn with ``seed``, are for testing.
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

    The name of a client is that of its file, without ``.npz``. Clients are sorted by name, or by
    number if all names are numbers.

    Args:
        folder: The folder. Each file has the arrays ``x_train`` and ``y_train``, and optionally
            ``x_test`` and ``y_test``; or only ``x`` and ``y``, which are split at random.
        name: The name of the federation.
        test_share: The share of each client's examples that the random split uses for testing.
        seed: The seed of the random split.
        classes: The number of classes; by default the largest label plus one.

    Returns:
        The federation, with one client for each file.

    Raises:
        DataError: If there is no such file, or one cannot be read; the message names it.

    Example:
        >>> import numpy as np
        >>> np.savez("site-a.npz", x_train=np.zeros((9, 2)), y_train=[0] * 9)  # doctest: +SKIP
        >>> from_folder(".").names  # doctest: +SKIP
        ('site-a',)

    """
    division = validated(SplitOptions, {"test_share": test_share, "seed": seed}, "from_folder")
    data = {
        file.stem: read_npz(file, f"Client {short_repr(file.stem)} ('{file}')", allow_unsplit=True)
        for file in _files(Path(folder))
    }
    return federation_of_clients(name, data, division, classes)


def load_npz(options: NpzOptions, folder: Path | None = None) -> Federation:
    """Read the folder in the settings; the data ``folder`` of other datasets is not used."""
    return from_folder(options.root(), test_share=options.test_share, seed=options.seed)


def count_npz(options: NpzOptions) -> int | None:
    """Return the number of clients without reading their files, or None if it is unknown."""
    try:
        return len(_files(options.root()))
    except DataError:  # loading raises it again
        return None


def _files(folder: Path) -> list[Path]:
    listed = files_matching(folder, "*.npz")
    if listed is None:
        raise DataError(
            f"There is no folder '{folder}': name one with an .npz file for each client, written "
            "with numpy.savez(file, x_train=..., y_train=...)."
        )
    # Some systems leave files whose names begin with a dot.
    found = [path for path in listed if not path.name.startswith(".")]
    if not found:
        raise DataError(
            f"There is no .npz file in '{folder}': put one for each client there, written with "
            "numpy.savez(file, x_train=..., y_train=...)."
        )
    numbered = all(path.stem.isdecimal() for path in found)
    return sorted(found, key=lambda path: (int(path.stem) if numbered else 0, path.stem))


def read_npz(path: Path, subject: str, *, allow_unsplit: bool) -> ClientData:
    """Read one client: ``x_train`` and ``y_train``, and optionally ``x_test`` and ``y_test``.

    With ``allow_unsplit``, a file may have only ``x`` and ``y`` instead, which are split later.
    ``subject`` begins the sentences about the file.
    """
    arrays = _arrays(path, subject)
    names = [name for name in arrays if allow_unsplit or name not in WHOLE]
    if names == [*WHOLE]:
        return ClientData(RawExamples(subject, arrays["x"], arrays["y"]), unsplit=True)
    # One array without its partner is a mistake.
    if names not in ([*TRAIN], [*TRAIN, *TEST]):
        raise _lacking(subject, arrays, allow_unsplit)
    train = RawExamples(subject, arrays["x_train"], arrays["y_train"])
    test = RawExamples(subject, arrays["x_test"], arrays["y_test"]) if "x_test" in names else None
    return ClientData(train, test)


def _lacking(subject: str, arrays: dict[str, NDArray[Any]], allow_unsplit: bool) -> DataError:
    has = ", ".join(arrays) or "none of them"
    instead = " (or only x and y, which are split at random)" if allow_unsplit else ""
    return DataError(
        f"{subject} needs the arrays x_train and y_train, and optionally both x_test and "
        f"y_test{instead}, but has {has}: write it with numpy.savez(file, x_train=..., "
        "y_train=...)."
    )


def _arrays(path: Path, subject: str) -> dict[str, NDArray[Any]]:
    """Return the known arrays of a file, always in the same order."""
    if not is_file(path):
        raise DataError(f"{subject} is not a regular file: replace it with one, or remove it.")
    try:
        with path.open("rb") as stream:
            stored = np.load(stream, allow_pickle=False)
            if not isinstance(stored, NpzFile):
                raise ValueError("it is a single array")
            known = (*WHOLE, *TRAIN, *TEST)
            return {name: np.asarray(stored[name]) for name in known if name in stored}
    except PermissionError:
        raise permission_error(path) from None
    except Exception as error:  # zipfile and NumPy may raise anything on damaged files
        raise DataError(
            f"{subject} cannot be read as .npz ({reason(error)}): write it again with numpy.savez "
            "and only arrays of numbers."
        ) from None
