"""Fetching the files of a dataset: from mirrors, checked, whole or not at all.

A mirror may send anything: no more is read than a file may be, and it is kept as it comes.
"""

import hashlib
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from io import BufferedIOBase
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, TypeAlias

import requests

from flexcfl.data.files import SOURCES, UNREADABLE, Source, files_in, open_file
from flexcfl.errors import DataError, unknown

__all__ = ["fetch", "wrong_files"]

Progress: TypeAlias = Callable[[str, int, int], None]
Download: TypeAlias = Callable[[str, Path], None]

CHUNK = 2**18
# Twice the largest download there is, the archive of EMNIST, and far more than any file in it.
MOST_BYTES = 2**30
# Requests' own errors are OSErrors; a zip that cannot be unpacked raises any of the others.
FAILURES = (*UNREADABLE, zipfile.BadZipFile, LookupError, RuntimeError, ValueError)


def fetch(
    name: str,
    folder: Path,
    progress: Progress = lambda file, received, total: None,
    sources: Mapping[str, Source] = SOURCES,
    timeout: tuple[float, float] = (10, 60),
    most: int = MOST_BYTES,
) -> list[Path]:
    """Bring the files of a dataset into a data folder and return those that were fetched.

    Files that are there and right are left alone. Others are downloaded beside their place, have
    the SHA-256 of their decompressed content checked, and only then take their place.
    ``progress(file, bytes received, bytes in all)`` is called as bytes arrive; a mirror that does
    not tell its size gives 0 in all. ``timeout`` is how many seconds to wait for a connection, and
    for the next bytes. Neither a download nor a file unpacked from one may grow beyond ``most``
    bytes, whatever a mirror sends.
    """
    if name not in sources:
        raise DataError(unknown("dataset to fetch", name, sources))
    source = sources[name]
    place = folder / source.folder
    try:
        wrong = wrong_files(place, source)
        # An archive holds all files: one download serves those that are wanted.
        batches = [wrong] if source.archive else [[file] for file in wrong]
        download = partial(_download, progress=progress, timeout=timeout, most=most)
        with _made(place):
            got = [_get(batch, place, source, download, most) for batch in batches if batch]
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


def _has_content(path: Path, sha256: str, most: int = MOST_BYTES) -> bool:
    digest = hashlib.sha256()
    try:
        with open_file(path) as stream:
            for chunk in _chunks(stream, most):
                digest.update(chunk)
    except (*UNREADABLE, ValueError):
        return False
    return digest.hexdigest() == sha256


def _chunks(stream: IO[bytes] | BufferedIOBase, most: int) -> Iterator[bytes]:
    """Read a stream to its end, or raise when that does not come."""
    left = most
    while chunk := stream.read(CHUNK):
        left -= len(chunk)
        if left < 0:
            raise ValueError(f"unpacks to more than {most} bytes")
        yield chunk


def _get(
    files: Sequence[str], place: Path, source: Source, download: Download, most: int
) -> list[Path]:
    """Fetch some files from the first mirror that gives them whole."""
    failures = []
    for mirror in source.mirrors:
        # Beside its place, so that taking it is one move within a file system.
        with TemporaryDirectory(prefix=".fetch-", dir=place) as temporary:
            paths = {file: Path(temporary) / f"{file}.gz" for file in files}
            try:
                _get_from(mirror, paths, source, download, most)
            except FAILURES as error:
                failures.append(f"{mirror} ({_reason(error)})")
                continue
            return [path.replace(place / path.name) for path in paths.values()]
    raise DataError(
        f"No mirror gave {', '.join(files)}: {'; '.join(failures)}; "
        f"try again later, or put a copy into '{place}'."
    )


def _get_from(
    mirror: str, paths: Mapping[str, Path], source: Source, download: Download, most: int
) -> None:
    if source.archive:
        bundle = next(iter(paths.values())).with_name("archive.zip")
        download(mirror, bundle)
        _unpack(bundle, paths.values(), most)
    else:
        for path in paths.values():
            download(f"{mirror}{path.name}", path)
    for file, path in paths.items():
        if not _has_content(path, source.sha256[file], most):
            raise ValueError(f"the content of {path.name} is not the right one")


def _download(
    address: str, path: Path, progress: Progress, timeout: tuple[float, float], most: int
) -> None:
    """Write what an address sends into a file, or raise once it is more than ``most`` bytes."""
    # Without the header a server may decompress a .gz, or compress it again, on its way.
    headers = {"Accept-Encoding": "identity"}
    get = partial(requests.get, stream=True, timeout=timeout, headers=headers)
    with get(address, hooks={"response": _disarm}) as response, path.open("wb") as file:
        response.raise_for_status()
        total, received = int(response.headers.get("Content-Length", 0)), 0
        for chunk in response.iter_content(CHUNK):
            received += len(chunk)
            if max(total, received) > most:
                raise ValueError(f"sends more than {most} bytes")
            file.write(chunk)
            progress(path.name, received, total)


def _disarm(response: requests.Response, **_: Any) -> None:
    """Take out what would be read without a bound.

    Requests unpacks what a server says it has packed, chunk by chunk and each in memory, and reads
    the page that comes along with a redirection to its end.
    """
    response.raw.headers.pop("Content-Encoding", None)
    if response.is_redirect:
        response.close()


def _unpack(bundle: Path, paths: Iterable[Path], most: int) -> None:
    """Take the wanted members out of a zip, in whatever folder of it they are."""
    with zipfile.ZipFile(bundle) as archive:
        members = {Path(member.filename).name: member for member in archive.infolist()}
        for path in paths:
            found = members[path.name]
            if found.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ValueError(f"{path.name} is packed in a way that is not supported")
            with archive.open(found) as member, path.open("wb") as file:
                file.writelines(_chunks(member, most))


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
    # What zipfile says may quote a name out of the archive, of any length.
    return f"{' '.join(str(error).split()):.200}"
