"""Download the files of a dataset from mirrors, and check them.

A mirror may send anything, so the size of a download is limited.
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

Progress: TypeAlias = Callable[[str, int, int], None]
Download: TypeAlias = Callable[[str, Path], None]

CHUNK = 2**18
# Twice the largest download, the archive of EMNIST, and far more than any file in it.
MOST_BYTES = 2**30
# The errors of requests are OSErrors; a zip that cannot be unpacked raises any of the others.
FAILURES = (*UNREADABLE, zipfile.BadZipFile, LookupError, RuntimeError, ValueError)


def fetch(
    name: str,
    folder: Path,
    progress: Progress = lambda file, received, total: None,
    sources: Mapping[str, Source] = SOURCES,
    timeout: tuple[float, float] = (10, 60),
    most: int = MOST_BYTES,
) -> list[Path]:
    """Download the missing files of a dataset into a data folder.

    Correct files are left alone. Others are downloaded into a temporary folder next to their
    destination and moved there once the SHA-256 of their decompressed content is right.

    Args:
        name: The name of the dataset.
        folder: The data folder.
        progress: Called as ``progress(file, bytes received, total bytes)`` while bytes arrive; the
            total is 0 if the mirror does not report it.
        sources: The files of each dataset, and their mirrors.
        timeout: Seconds to wait for a connection, and for the next bytes.
        most: The largest size in bytes of a download, and of a file unpacked from it.

    Returns:
        The paths of the files that were downloaded.

    Raises:
        DataError: If no mirror sends the right files, or the folder cannot be written.

    """
    if name not in sources:
        raise DataError(unknown("dataset to fetch", name, sources))
    source = sources[name]
    location = folder / source.folder
    try:
        wrong = wrong_files(location, source)
        # An archive holds all files, so one download is enough.
        batches = [wrong] if source.archive else [[file] for file in wrong]
        download = partial(_download, progress=progress, timeout=timeout, most=most)
        with _new_folder(location):
            got = [_get(batch, location, source, download, most) for batch in batches if batch]
        return [path for paths in got for path in paths]
    except OSError as error:
        raise DataError(
            f"'{location}' cannot be written ({error.strerror}): choose another folder."
        ) from None


def wrong_files(location: Path, source: Source) -> list[str]:
    """Return the names of the files that are missing in a folder or have the wrong content."""
    present = files_in(location, source)
    return [
        file
        for file, sha256 in source.sha256.items()
        if file not in present or not _has_content(present[file], sha256)
    ]


@contextmanager
def _new_folder(location: Path) -> Iterator[None]:
    """Make a folder and its parents, and remove them again if an error follows."""
    new = [folder for folder in (location, *location.parents) if not folder.exists()]
    try:
        location.mkdir(parents=True, exist_ok=True)
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
    """Yield a stream in chunks; raise an error after ``most`` bytes."""
    left = most
    while chunk := stream.read(CHUNK):
        left -= len(chunk)
        if left < 0:
            raise ValueError(f"unpacks to more than {most} bytes")
        yield chunk


def _get(
    files: Sequence[str], location: Path, source: Source, download: Download, most: int
) -> list[Path]:
    """Download some files from the first mirror that sends all of them correctly."""
    failures = []
    for mirror in source.mirrors:
        # Next to the destination, so that each file is moved within one file system.
        with TemporaryDirectory(prefix=".fetch-", dir=location) as temporary:
            paths = {file: Path(temporary) / f"{file}.gz" for file in files}
            try:
                _get_from(mirror, paths, source, download, most)
            except FAILURES as error:
                failures.append(f"{mirror} ({_reason(error)})")
                continue
            return [path.replace(location / path.name) for path in paths.values()]
    raise DataError(
        f"No mirror gave {', '.join(files)}: {'; '.join(failures)}; "
        f"try again later, or put a copy into '{location}'."
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
            raise ValueError(f"the content of {path.name} is wrong")


def _download(
    address: str, path: Path, progress: Progress, timeout: tuple[float, float], most: int
) -> None:
    """Download an address into a file, or raise an error after ``most`` bytes."""
    # Without this header a server may decompress a .gz file, or compress it again.
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
    """Remove what requests would read without a limit.

    Requests decompresses each chunk in memory if the server declares an encoding, and reads the
    body of a redirect to its end.
    """
    response.raw.headers.pop("Content-Encoding", None)
    if response.is_redirect:
        response.close()


def _unpack(bundle: Path, paths: Iterable[Path], most: int) -> None:
    """Unpack the wanted members of a zip, from any folder in it."""
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
    # A message of zipfile may quote a name from the archive, of any length.
    return f"{' '.join(str(error).split()):.200}"
