"""A federation from a folder of ``.npz`` files, one for each client."""

from pathlib import Path

from pydantic.dataclasses import dataclass

from flexcfl.data.division import Division
from flexcfl.data.federation import Federation
from flexcfl.data.files import barred, forbidden
from flexcfl.data.holdings import gathered
from flexcfl.data.npz import read_npz
from flexcfl.data.options import FORBID, FolderOptions, Seed, Share
from flexcfl.errors import DataError
from flexcfl.settings import keywords, shown, validated

__all__ = ["NpzOptions", "count_npz", "from_folder", "load_npz"]

NAME = "npz"


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
    name: str = NAME,
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
    division = validated(Division, {"test_share": test_share, "seed": seed}, "from_folder")
    holdings = {
        file.stem: read_npz(file, f"Client {shown(file.stem)} ('{file}')", whole=True)
        for file in _files(Path(folder))
    }
    return gathered(name, holdings, division, classes)


def load_npz(options: NpzOptions, folder: Path | None = None) -> Federation:
    """Read the folder of the settings; the data ``folder`` of other sets has no part in it."""
    return from_folder(options.root(), test_share=options.test_share, seed=options.seed)


def count_npz(options: NpzOptions) -> int | None:
    """Return how many clients there are, without reading their files, if that can be seen."""
    try:
        return len(_files(options.root()))
    except DataError:  # which is told when they are to be read
        return None


def _files(folder: Path) -> list[Path]:
    if barred(folder):
        raise forbidden(folder)
    try:
        found = [path for path in folder.iterdir() if path.suffix == ".npz" and _plain(path.stem)]
    except PermissionError:
        raise forbidden(folder) from None
    except (OSError, ValueError):  # it is not there, no folder, or of a name that none can have
        raise DataError(
            f"There is no folder '{folder}': name one with an .npz file for each client, written "
            "with numpy.savez(file, x_train=..., y_train=...)."
        ) from None
    if not found:
        raise DataError(
            f"There is no .npz file in '{folder}': put one for each client there, written with "
            "numpy.savez(file, x_train=..., y_train=...)."
        )
    numbered = all(path.stem.isdecimal() for path in found)
    return sorted(found, key=lambda path: (int(path.stem) if numbered else 0, path.stem))


def _plain(stem: str) -> bool:
    """Whether it is a name that somebody gave, and not one of those that systems leave behind."""
    return not stem.startswith(".")
