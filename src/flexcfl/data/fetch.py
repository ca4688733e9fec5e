"""Fetching the files of a dataset: from mirrors, checked, whole or not at all."""

import hashlib
import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

import pooch
import requests

from flexcfl.data.files import UNREADABLE, files_in, opened
from flexcfl.data.sources import SOURCES, Source
from flexcfl.errors import DataError, unknown

__all__ = ["Progress", "fetch", "wrong_files"]

Progress: TypeAlias = Callable[[str, int, int], None]
Receive: TypeAlias = Callable[[str, Path], None]

CHUNK = 2**18
# Requests' own errors are OSErrors; a zip that cannot be unpacked raises any of the others.
FAILURES = (*UNREADABLE, zipfile.BadZipFile, LookupError, RuntimeError, ValueError)


def fetch(
    name: str,
    folder: Path,
    progress: Progress = lambda file, received, total: None,
    sources: Mapping[str, Source] = SOURCES,
    timeout: tuple[float, float] = (10, 60),
) -> list[Path]:
    """Bring the files of a dataset into a data folder and return those that were fetched.

    Files that are there and right are left alone. Others are downloaded beside their place, have
    the SHA-256 of their decompressed content checked, and only then take their place.
    ``progress(file, bytes received, bytes in all)`` is called as bytes arrive; a mirror that does
    not tell its size gives 0 in all. ``timeout`` is how many seconds to wait for a connection, and
    for the next bytes.
    """
    if name not in sources:
        raise DataError(unknown("dataset to fetch", name, sources))
    source = sources[name]
    place = folder / source.folder
    try:
        wrong = wrong_files(place, source)
        # An archive holds all files: one download serves those that are wanted.
        batches = [wrong] if source.archive else [[file] for file in wrong]
        receive = partial(_receive, progress=progress, timeout=timeout)
        with _made(place):
            got = [_get(batch, place, source, receive) for batch in batches if batch]
        return [path for paths in got for path in paths]
    except OSError as error:
        raise DataError(
            f"Nothing can be put into '{place}' ({error.strerror}): choose another folder."
        ) from None


def wrong_files(place: Path, source: Source) -> list[str]:
    """Return the files that a folder lacks, or that do not have the right content there."""
    present = files_in(place, source)
    return [
        file
        for file, sha256 in source.sha256.items()
        if file not in present or not _has_content(present[file], sha256)
    ]


@contextmanager
def _made(place: Path) -> Iterator[None]:
    """Make a folder and its parents; those that were made go again where what follows fails."""
    new = [folder for folder in (place, *place.parents) if not folder.exists()]
    try:
        place.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for folder in new:
            with suppress(OSError):  # one that holds a fetched file stays
                folder.rmdir()
        raise


def _has_content(path: Path, sha256: str) -> bool:
    digest = hashlib.sha256()
    try:
        with opened(path) as stream:
            while chunk := stream.read(CHUNK):
                digest.update(chunk)
    except UNREADABLE:
        return False
    return digest.hexdigest() == sha256


def _get(files: Sequence[str], place: Path, source: Source, receive: Receive) -> list[Path]:
    """Fetch some files from the first mirror that gives them whole."""
    failures = []
    for mirror in source.mirrors:
        # Beside its place, so that taking it is one move within a file system.
        with TemporaryDirectory(prefix=".fetch-", dir=place) as temporary:
            try:
                arrived = _download(mirror, files, Path(temporary), source, receive)
            except FAILURES as error:
                failures.append(f"{mirror} ({_reason(error)})")
                continue
            return [path.replace(place / path.name) for path in arrived]
    raise DataError(
        f"No mirror gave {', '.join(files)}: {'; '.join(failures)}; "
        f"try again later, or put a copy into '{place}'."
    )


def _download(
    mirror: str, files: Sequence[str], temporary: Path, source: Source, receive: Receive
) -> list[Path]:
    paths = [temporary / f"{file}.gz" for file in files]
    if source.archive:
        bundle = temporary / "archive.zip"
        receive(mirror, bundle)
        _unpack(bundle, paths)
    else:
        for path in paths:
            receive(f"{mirror}{path.name}", path)
    for file, path in zip(files, paths, strict=True):
        if not _has_content(path, source.sha256[file]):
            raise ValueError(f"the content of {path.name} is not the right one")
    return paths


def _receive(address: str, path: Path, progress: Progress, timeout: tuple[float, float]) -> None:
    downloader = pooch.HTTPDownloader(
        progressbar=_Meter(path.name, progress),
        chunk_size=CHUNK,
        timeout=timeout,
        # Else a server may decompress a .gz, or compress it again, on its way.
        headers={"Accept-Encoding": "identity"},
    )
    downloader(address, str(path), None)


def _unpack(bundle: Path, paths: Sequence[Path]) -> None:
    """Take the wanted members out of a zip, in whatever folder of it they are."""
    with zipfile.ZipFile(bundle) as archive:
        members = {Path(member).name: member for member in archive.namelist()}
        for path in paths:
            with archive.open(members[path.name]) as member, path.open("wb") as file:
                shutil.copyfileobj(member, file, CHUNK)


def _reason(error: BaseException) -> str:
    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"answers {error.response.status_code}"
    if isinstance(error, requests.Timeout):
        return "does not answer in time"
    if isinstance(error, requests.ConnectionError):
        return "cannot be reached"
    if isinstance(error, requests.RequestException):
        return "breaks off"
    if isinstance(error, LookupError):
        return f"does not hold {error.args[0]}"
    return str(error)


class _Meter:
    """What pooch takes for a progress bar; it counts whole chunks, so the last one is clipped."""

    def __init__(self, file: str, progress: Progress) -> None:
        self.file, self.progress = file, progress
        self.total = self.received = 0

    def update(self, count: int) -> None:
        self.received += count
        received = min(self.received, self.total) if self.total else self.received
        self.progress(self.file, received, self.total)

    def reset(self) -> None:
        self.received = 0

    def close(self) -> None:
        pass
