"""The public files of the datasets, and the folders to search for them.

These are a given folder, the one in ``FLEXCFL_DATA``, the cache, and the system's own packages.
"""

import gzip
import os
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedIOBase
from pathlib import Path
from types import MappingProxyType

import pooch

from flexcfl.errors import DataError

VARIABLE = "FLEXCFL_DATA"
UNREADABLE = (OSError, EOFError, zlib.error)
GZIP = b"\x1f\x8b"

MNIST_SHA256 = {
    "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}
FASHION_MNIST_SHA256 = {
    "train-images-idx3-ubyte": "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
    "train-labels-idx1-ubyte": "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
    "t10k-images-idx3-ubyte": "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
    "t10k-labels-idx1-ubyte": "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
}


@dataclass(frozen=True)
class Source:
    """The files of one dataset.

    Attributes:
        folder: Their folder inside a data folder.
        sha256: The SHA-256 of each file's decompressed content, by name (without ``.gz``).
        mirrors: Addresses to try in order, each a folder with ``NAME.gz`` files.
        archive: Whether each mirror is a zip of such files instead.
        installed: Complete folders where a package of the system may have put the files.

    """

    folder: str
    sha256: Mapping[str, str]
    mirrors: tuple[str, ...]
    archive: bool = False
    installed: tuple[Path, ...] = ()


SOURCES: Mapping[str, Source] = MappingProxyType(
    {
        "mnist": Source(
            folder="mnist",
            sha256=MNIST_SHA256,
            mirrors=(
                "https://ossci-datasets.s3.amazonaws.com/mnist/",
                "https://storage.googleapis.com/cvdf-datasets/mnist/",
            ),
        ),
        "femnist": Source(
            folder="emnist",
            sha256={
                "emnist-byclass-test-images-idx3-ubyte": (
                    "385559d7d5c96f49cd6b55b3e9e76d7ecbf568897b6067e8cac8f1ffc2f50f81"
                ),
                "emnist-byclass-test-labels-idx1-ubyte": (
                    "842d01413932b3ce7afbc9990376a16f8880a212bb42d66fa2922b4218cf300a"
                ),
            },
            mirrors=(
                "https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip",
                "https://www.itl.nist.gov/iaui/vip/cs_links/EMNIST/gzip.zip",
            ),
            archive=True,
        ),
        "fashion-mnist": Source(
            folder="fashion-mnist",
            sha256=FASHION_MNIST_SHA256,
            mirrors=(
                "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
                "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
            ),
            # Debian's package dataset-fashion-mnist.
            installed=(Path("/usr/share/datasets/fashion-mnist"),),
        ),
    }
)


def find(name: str, folder: Path | None = None) -> dict[str, Path]:
    """Return the path of each file of a dataset, from the first folder that has them all."""
    looked = search_folders(SOURCES[name], folder)
    paths = find_complete(SOURCES[name], looked)
    if paths is not None:
        return paths
    closed = next(filter(is_forbidden, looked), None)
    raise permission_error(closed) if closed else DataError(_missing(name, SOURCES[name], looked))


def search_folders(source: Source, folder: Path | None = None) -> list[Path]:
    """Return the folders to search, in order; a given folder does not hide the later ones."""
    if folder is not None and not _is_folder(folder):
        raise DataError(f"The data folder '{folder}' is not a folder: correct --data.")
    variable = os.environ.get(VARIABLE)
    if variable and folder is None and not _is_folder(Path(variable)):
        raise DataError(
            f"{VARIABLE} names '{variable}', which is not a folder: correct or unset it."
        )
    roots = [folder, Path(variable) if variable else None, cache_folder()]
    inside = [root / source.folder for root in roots if root is not None]
    return list(dict.fromkeys([*inside, *source.installed]))


def cache_folder() -> Path:
    """Return the user's cache folder, the default destination of downloads."""
    return Path(pooch.os_cache("flexcfl"))


def find_complete(source: Source, looked: list[Path]) -> dict[str, Path] | None:
    """Return the paths of all files in the first folder that has them all, or None."""
    everywhere = (files_in(location, source) for location in looked)
    return next((paths for paths in everywhere if len(paths) == len(source.sha256)), None)


def files_in(location: Path, source: Source) -> dict[str, Path]:
    """Return the paths of the files that a folder has.

    A compressed file takes precedence over a plain one, because ``fetch`` replaces that one.
    """
    if is_forbidden(location):
        return {}
    candidates = [
        (file, location / f"{file}{end}") for file in source.sha256 for end in ("", ".gz")
    ]
    return {file: path for file, path in candidates if is_file(path)}


def is_forbidden(location: Path) -> bool:
    """Return whether the user has no permission to look into a folder."""
    try:
        (location / "any").stat()
    except PermissionError:
        return True
    except (OSError, ValueError):  # a name that no file can have is a ValueError
        return False
    return False


def is_file(path: Path) -> bool:
    """Return whether this is a regular file: a pipe or a device could block its reader forever."""
    # Unlike pathlib, os.path returns False for a name that is too long or that no file can have.
    return os.path.isfile(path)  # noqa: PTH113


def files_matching(folder: Path, pattern: str) -> list[Path] | None:
    """Return the sorted paths in a folder that match a pattern; None if there is no folder."""
    if is_forbidden(folder):
        raise permission_error(folder)
    try:
        return sorted(path for path in folder.iterdir() if path.match(pattern))
    except PermissionError:
        raise permission_error(folder) from None
    except (OSError, ValueError):  # missing, not a folder, or a name that no folder can have
        return None


def permission_error(path: Path) -> DataError:
    """Return the error for a file or folder that the user has no permission to read."""
    return DataError(f"'{path}' cannot be read (Permission denied): check its permissions.")


@contextmanager
def open_file(path: Path) -> Iterator[BufferedIOBase]:
    """Open a file for reading, through gzip if its first bytes say so."""
    if path.exists() and not path.is_file():
        raise OSError("it is not a regular file")
    with path.open("rb") as raw:
        compressed = raw.read(2) == GZIP
        raw.seek(0)
        if not compressed:
            yield raw
            return
        with gzip.GzipFile(fileobj=raw) as unpacked:
            yield unpacked


def _is_folder(path: Path) -> bool:
    return is_forbidden(path) or os.path.isdir(path)  # noqa: PTH112  (as above)


def _missing(name: str, source: Source, looked: list[Path]) -> str:
    """Return the error sentence: the missing files, the searched folders, and two solutions."""
    fullest = max((files_in(location, source) for location in looked), key=len)
    lacking = ", ".join(file for file in source.sha256 if file not in fullest)
    folders = ", ".join(f"'{location}'" for location in looked)
    return (
        f"'{name}' lacks {lacking} (plain or .gz) in {folders}: "
        f"run 'flexcfl data fetch {name}', or name the data folder with --data or {VARIABLE}."
    )
