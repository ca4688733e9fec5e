"""One file from a mirror, which may send anything: kept as it comes, and no more than it may be."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pooch
import requests

__all__ = ["CHUNK", "Progress", "download"]

Progress: TypeAlias = Callable[[str, int, int], None]

CHUNK = 2**18


def download(
    address: str, path: Path, progress: Progress, timeout: tuple[float, float], most: int
) -> None:
    """Write what an address sends into a file, or raise once it is more than ``most`` bytes."""
    downloader = pooch.HTTPDownloader(
        progressbar=_Meter(path.name, progress, most),
        chunk_size=CHUNK,
        timeout=timeout,
        # Else a server may decompress a .gz, or compress it again, on its way.
        headers={"Accept-Encoding": "identity"},
        hooks={"response": _disarm},
    )
    downloader(address, str(path), None)


def _disarm(response: requests.Response, **_: Any) -> None:
    """Take out what would be read without a bound.

    Requests unpacks what a server says it has packed, chunk by chunk and each in memory, and reads
    the page that comes along with a redirection to its end.
    """
    response.raw.headers.pop("Content-Encoding", None)
    if response.is_redirect:
        response.close()


class _Meter:
    """What pooch takes for a progress bar; it counts whole chunks, so the last one is clipped.

    It is asked after each chunk, so that it is also the place to break off.
    """

    def __init__(self, file: str, progress: Progress, most: int) -> None:
        self.file, self.progress, self.most = file, progress, most
        self.total = self.received = 0

    def update(self, count: int) -> None:
        self.received += count
        if max(self.total, self.received - CHUNK) > self.most:
            raise ValueError(f"sends more than {self.most} bytes")
        received = min(self.received, self.total) if self.total else self.received
        self.progress(self.file, received, self.total)

    def reset(self) -> None:
        self.received = 0

    def close(self) -> None:
        pass
