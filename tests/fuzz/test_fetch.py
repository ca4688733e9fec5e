"""Mirrors that send unexpected data."""

import gzip
import hashlib
import io
import threading
import tracemalloc
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from flexcfl.data.fetch import fetch
from flexcfl.data.files import Source
from flexcfl.errors import DataError
from fuzz.harness import alarmed
from fuzz.strategies import mutated

IMAGES = b"images" * 1000
MOST = 2**20
MEGABYTE = bytes(2**20)


@dataclass
class Mirror:
    """A mirror that sends an answer, or megabytes without end, with whatever headers."""

    address: str = ""
    answer: bytes = b""
    endless: set[str] = field(default_factory=set)
    headers: dict[str, str] = field(default_factory=dict)
    redirected: set[str] = field(default_factory=set)
    sent: int = 0


@pytest.fixture(scope="module")
def serving() -> Iterator[Mirror]:
    mirror = Mirror()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(302 if self.path in mirror.redirected else 200)
            for name, value in mirror.headers.items():
                self.send_header(name, value)
            self.end_headers()
            try:
                self.wfile.write(mirror.answer)
                while self.path in mirror.endless and mirror.sent < 2**30:
                    self.wfile.write(MEGABYTE)
                    mirror.sent += len(MEGABYTE)
            except OSError:  # the client has left
                self.close_connection = True

        def log_message(self, *arguments: object) -> None:
            pass

    with (
        ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running,
        pytest.MonkeyPatch.context() as p,
    ):
        p.setenv("NO_PROXY", "127.0.0.1")
        mirror.address = f"http://127.0.0.1:{running.server_port}"
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield mirror
        running.shutdown()
        thread.join()


@pytest.fixture
def mirror(serving: Mirror) -> Mirror:
    serving.answer, serving.headers, serving.sent = b"", {}, 0
    serving.endless, serving.redirected = set(), set()
    return serving


def fetched(mirror: Mirror, folder: Path, archive: bool = False) -> list[Path]:
    address = f"{mirror.address}/all.zip" if archive else f"{mirror.address}/"
    sha256 = {"images": hashlib.sha256(IMAGES).hexdigest()}
    sources = {"tiny": Source("tiny", sha256, (address,), archive)}
    with alarmed():
        return fetch("tiny", folder / "data", sources=sources, most=MOST)


def everything(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def peak_while_refused(mirror: Mirror, folder: Path, reason: str) -> int:
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match=reason):
            fetched(mirror, folder)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def zipped(name: str, content: bytes, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as bundle:
        bundle.writestr(name, content)
    return stream.getvalue()


RIGHT = zipped("gzip/images.gz", gzip.compress(IMAGES))


def test_a_download_without_end_is_broken_off(mirror: Mirror, tmp_path: Path) -> None:
    mirror.endless = {"/images.gz"}
    assert peak_while_refused(mirror, tmp_path, rf"sends more than {MOST} bytes") < 8 * MOST
    assert mirror.sent < 2**30
    assert everything(tmp_path) == set()


def test_a_download_that_tells_a_great_size_is_broken_off(mirror: Mirror, tmp_path: Path) -> None:
    mirror.endless, mirror.headers = {"/images.gz"}, {"Content-Length": str(2**50)}
    assert peak_while_refused(mirror, tmp_path, "sends more than") < 8 * MOST


@pytest.mark.parametrize("size", ["-1", "many", "9" * 5000])
def test_a_false_size_is_a_failure_of_the_mirror(mirror: Mirror, tmp_path: Path, size: str) -> None:
    mirror.answer, mirror.headers = gzip.compress(b"other"), {"Content-Length": size}
    with pytest.raises(DataError, match="No mirror gave images"):
        fetched(mirror, tmp_path)
    assert everything(tmp_path) == set()


def test_a_bomb_is_not_unpacked_to_its_end(mirror: Mirror, tmp_path: Path) -> None:
    mirror.answer = gzip.compress(bytes(100 * MOST), 1)
    assert len(mirror.answer) < MOST
    reason = r"the content of images\.gz is wrong"
    assert peak_while_refused(mirror, tmp_path, reason) < 8 * MOST


def test_what_a_server_says_it_has_packed_is_kept_as_it_comes(
    mirror: Mirror, tmp_path: Path
) -> None:
    mirror.answer = gzip.compress(gzip.compress(bytes(200 * MOST), 1))
    mirror.headers = {"Content-Encoding": "gzip, gzip"}
    assert peak_while_refused(mirror, tmp_path, "is wrong") < 8 * MOST
    mirror.answer, mirror.headers = gzip.compress(IMAGES), {"Content-Encoding": "gzip"}
    (path,) = fetched(mirror, tmp_path)
    assert path.read_bytes() == mirror.answer


def test_the_page_of_a_redirection_is_not_read(mirror: Mirror, tmp_path: Path) -> None:
    mirror.endless = mirror.redirected = {"/images.gz"}
    mirror.headers = {"Location": "/elsewhere"}
    assert peak_while_refused(mirror, tmp_path, "is wrong") < 8 * MOST
    assert mirror.sent < 2**30


def test_a_member_that_unpacks_without_end_is_broken_off(mirror: Mirror, tmp_path: Path) -> None:
    mirror.answer = zipped("images.gz", bytes(100 * MOST))
    with pytest.raises(DataError, match=f"unpacks to more than {MOST} bytes"):
        fetched(mirror, tmp_path, archive=True)
    assert everything(tmp_path) == set()


@pytest.mark.parametrize(
    "name", ["../../images.gz", "/images.gz", "/etc/images.gz", "..\\images.gz", "a/../images.gz"]
)
def test_members_cannot_leave_the_folder(mirror: Mirror, tmp_path: Path, name: str) -> None:
    mirror.answer = zipped(name, gzip.compress(IMAGES))
    try:
        fetched(mirror, tmp_path, archive=True)
    except DataError:
        assert everything(tmp_path) == set()
    else:
        assert everything(tmp_path) == {"data", "data/tiny", "data/tiny/images.gz"}
    assert not Path("/images.gz").exists()


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_ways_to_pack_are_refused(mirror: Mirror, tmp_path: Path, method: int) -> None:
    mirror.answer = zipped("images.gz", gzip.compress(IMAGES), method)
    with pytest.raises(DataError, match="packed in a way that is not supported"):
        fetched(mirror, tmp_path, archive=True)


def take_or_refuse(mirror: Mirror, folder: Path, content: bytes) -> None:
    mirror.answer, sentence = content, "It is taken."
    try:
        (path,) = fetched(mirror, folder, archive=True)
    except DataError as error:
        sentence = str(error)
    else:
        assert gzip.decompress(path.read_bytes()) == IMAGES
        path.unlink()
    assert sentence.endswith(".")
    assert len(sentence.splitlines()) == 1
    assert everything(folder) <= {"data", "data/tiny"}


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(mutated([RIGHT]))
def test_mutated_archives(mirror: Mirror, tmp_path: Path, content: bytes) -> None:
    take_or_refuse(mirror, tmp_path, content)


@pytest.mark.slow
@settings(max_examples=500, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(mutated([RIGHT]))
def test_many_mutated_archives(mirror: Mirror, tmp_path: Path, content: bytes) -> None:
    take_or_refuse(mirror, tmp_path, content)
