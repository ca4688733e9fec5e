"""Where the files of a dataset are: a given folder, ``FLEXCFL_DATA``, the cache, the system."""

import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedIOBase
from pathlib import Path

import pooch

from flexcfl.data.sources import SOURCES, Source
from flexcfl.errors import DataError

__all__ = [
    "UNREADABLE",
    "VARIABLE",
    "barred",
    "cache",
    "files_in",
    "find",
    "forbidden",
    "is_file",
    "located",
    "opened",
    "places",
]

VARIABLE = "FLEXCFL_DATA"
UNREADABLE = (OSError, EOFError, zlib.error)
GZIP = b"\x1f\x8b"


def find(name: str, folder: Path | None = None) -> dict[str, Path]:
    """Return the path of each file of a dataset, all from the first place that has them all."""
    looked = places(SOURCES[name], folder)
    paths = located(SOURCES[name], looked)
    if paths is not None:
        return paths
    closed = next(filter(barred, looked), None)
    raise forbidden(closed) if closed else DataError(_missing(name, SOURCES[name], looked))


def places(source: Source, folder: Path | None = None) -> list[Path]:
    """Return the folders to look in, in order: one given by hand does not hide the later ones."""
    if folder is not None and not _is_folder(folder):
        raise DataError(f"The data folder '{folder}' is not a folder: correct --data.")
    variable = os.environ.get(VARIABLE)
    if variable and folder is None and not _is_folder(Path(variable)):
        raise DataError(
            f"{VARIABLE} names '{variable}', which is not a folder: correct or unset it."
        )
    roots = [folder, Path(variable) if variable else None, cache()]
    inside = [root / source.folder for root in roots if root is not None]
    return list(dict.fromkeys([*inside, *source.installed]))


def cache() -> Path:
    """Return the user's own cache folder, into which files are fetched."""
    return Path(pooch.os_cache("flexcfl"))


def located(source: Source, looked: list[Path]) -> dict[str, Path] | None:
    """Return the paths of all files in the first of the folders that holds them all."""
    everywhere = (files_in(place, source) for place in looked)
    return next((paths for paths in everywhere if len(paths) == len(source.sha256)), None)


def files_in(place: Path, source: Source) -> dict[str, Path]:
    """Return the paths of those files that a folder holds.

    A compressed file goes before a plain one: it is the one that ``fetch`` brings and mends.
    """
    if barred(place):
        return {}
    candidates = [(file, place / f"{file}{end}") for file in source.sha256 for end in ("", ".gz")]
    return {file: path for file, path in candidates if is_file(path)}


def barred(place: Path) -> bool:
    """Tell whether the user has no right to look into a folder."""
    try:
        (place / "any").stat()
    except PermissionError:
        return True
    except (OSError, ValueError):  # a name that no file can have is a ValueError
        return False
    return False


def is_file(path: Path) -> bool:
    """Tell whether there is a file: a pipe or a device could keep its reader waiting for ever."""
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that is too long, or that no file can have
        return False


def forbidden(path: Path) -> DataError:
    """Return the sentence on a file or folder that the user has no right to read."""
    return DataError(f"'{path}' cannot be read (Permission denied): check its rights.")


@contextmanager
def opened(path: Path) -> Iterator[BufferedIOBase]:
    """Open a file for reading, through gzip where its first bytes say so."""
    if path.exists() and not path.is_file():
        raise OSError("it is no regular file")
    with path.open("rb") as raw:
        compressed = raw.read(2) == GZIP
        raw.seek(0)
        if not compressed:
            yield raw
            return
        with gzip.GzipFile(fileobj=raw) as unpacked:
            yield unpacked


def _is_folder(path: Path) -> bool:
    try:
        return barred(path) or path.is_dir()
    except (OSError, ValueError):  # as above
        return False


def _missing(name: str, source: Source, looked: list[Path]) -> str:
    """Name what is missing where least is missing, all places, and the two ways out."""
    fullest = max((files_in(place, source) for place in looked), key=len)
    lacking = ", ".join(file for file in source.sha256 if file not in fullest)
    folders = ", ".join(f"'{place}'" for place in looked)
    return (
        f"'{name}' lacks {lacking} (plain or .gz) in {folders}: "
        f"run 'flexcfl data fetch {name}', or name the data folder with --data or {VARIABLE}."
    )
