import gzip
import hashlib
import io
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from flexcfl.data.fetch import fetch
from flexcfl.data.files import SOURCES, Source
from flexcfl.errors import DataError

IMAGES, LABELS = b"images" * 50_000, b"labels" * 10


@dataclass
class Server:
    """A web server whose answers the test lays down: whole, cut short, wrong, or none."""

    address: str = ""
    answers: dict[str, bytes] = field(default_factory=dict)
    short: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)
    encodings: set[str | None] = field(default_factory=set)
    stalled: threading.Event = field(default_factory=threading.Event)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    laid = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            laid.asked.append(self.path)
            laid.encodings.add(self.headers["Accept-Encoding"])
            if self.path == "/stalled/images.gz":
                laid.stalled.wait(10)
                return
            if self.path not in laid.answers:
                self.send_error(404)
                return
            body = laid.answers[self.path]
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: len(body) // 2] if self.path in laid.short else body)

        def log_message(self, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        laid.address = f"http://127.0.0.1:{running.server_port}"
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield laid
        laid.stalled.set()
        running.shutdown()
        thread.join()


def lay(server: Server, mirror: str, images: bytes = IMAGES, labels: bytes = LABELS) -> None:
    server.answers[f"/{mirror}/images.gz"] = gzip.compress(images)
    server.answers[f"/{mirror}/labels.gz"] = gzip.compress(labels)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def sources(server: Server, *mirrors: str, archive: bool = False) -> dict[str, Source]:
    addresses = tuple(f"{server.address}/{mirror}" for mirror in mirrors)
    wanted = {"images": sha256(IMAGES), "labels": sha256(LABELS)}
    return {"tiny": Source("tiny-files", wanted, addresses, archive)}


def everything(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def unpacked(folder: Path) -> dict[str, bytes]:
    assert not [path for path in folder.rglob(".*") if path.is_dir()]
    return {name: gzip.decompress(content) for name, content in everything(folder).items()}


WHOLE = {"images.gz": IMAGES, "labels.gz": LABELS}


def test_files_arrive_whole_and_their_progress_is_told(server: Server, tmp_path: Path) -> None:
    lay(server, "a")
    seen: list[tuple[str, int, int]] = []
    fetched = fetch("tiny", tmp_path, lambda *told: seen.append(told), sources(server, "a/"))
    place = tmp_path / "tiny-files"
    assert fetched == [place / "images.gz", place / "labels.gz"]
    assert unpacked(tmp_path) == WHOLE
    for file in WHOLE:
        size = len(server.answers[f"/a/{file}"])
        assert [told for told in seen if told[0] == file][-1] == (file, size, size)
    assert all(received <= total for _, received, total in seen)


def test_what_is_there_and_right_is_not_fetched_again(server: Server, tmp_path: Path) -> None:
    lay(server, "a")
    (tmp_path / "tiny-files").mkdir()
    (tmp_path / "tiny-files" / "images").write_bytes(IMAGES)  # plain is as good
    assert len(fetch("tiny", tmp_path, sources=sources(server, "a/"))) == 1
    assert fetch("tiny", tmp_path, sources=sources(server, "a/")) == []
    assert server.asked == ["/a/labels.gz"]


def test_mirrors_are_asked_not_to_repack_what_is_packed(server: Server, tmp_path: Path) -> None:
    lay(server, "a")
    fetch("tiny", tmp_path, sources=sources(server, "a/"))
    assert server.encodings == {"identity"}


@pytest.mark.parametrize("damage", [b"", b"rubbish", gzip.compress(IMAGES)[:-10]])
def test_what_is_there_and_wrong_is_replaced(server: Server, tmp_path: Path, damage: bytes) -> None:
    lay(server, "a")
    (tmp_path / "tiny-files").mkdir()
    (tmp_path / "tiny-files" / "images.gz").write_bytes(damage)
    fetch("tiny", tmp_path, sources=sources(server, "a/"))
    assert unpacked(tmp_path) == WHOLE


def test_an_interrupted_download_leaves_nothing_and_the_second_try_succeeds(
    server: Server, tmp_path: Path
) -> None:
    lay(server, "a")
    server.short = {"/a/images.gz"}
    with pytest.raises(DataError, match=r"No mirror gave images: .*breaks off.*try again later"):
        fetch("tiny", tmp_path, sources=sources(server, "a/"))
    assert everything(tmp_path) == {}
    server.short = set()
    fetch("tiny", tmp_path, sources=sources(server, "a/"))
    assert unpacked(tmp_path) == WHOLE


def test_wrong_content_leaves_nothing_and_keeps_what_was_there(
    server: Server, tmp_path: Path
) -> None:
    lay(server, "a", images=b"another thing")
    (tmp_path / "tiny-files").mkdir()
    (tmp_path / "tiny-files" / "images.gz").write_bytes(b"old")
    with pytest.raises(DataError, match=r"the content of images\.gz is wrong"):
        fetch("tiny", tmp_path, sources=sources(server, "a/"))
    assert everything(tmp_path) == {"images.gz": b"old"}


@pytest.mark.parametrize("trouble", ["missing", "short", "wrong"])
def test_the_second_mirror_steps_in(server: Server, tmp_path: Path, trouble: str) -> None:
    lay(server, "b")
    if trouble != "missing":
        lay(server, "a", images=b"x" * 10_000 if trouble == "wrong" else IMAGES)
    if trouble == "short":
        server.short = {"/a/images.gz"}
    fetch("tiny", tmp_path, sources=sources(server, "a/", "b/"))
    assert unpacked(tmp_path) == WHOLE
    assert server.asked[:2] == ["/a/images.gz", "/b/images.gz"]


def test_all_mirrors_that_failed_are_named_with_their_reasons(
    server: Server, tmp_path: Path
) -> None:
    with pytest.raises(DataError) as caught:
        fetch("tiny", tmp_path, sources=sources(server, "a/", "b/"))
    assert str(caught.value) == (
        f"No mirror gave images: {server.address}/a/ (answers 404); "
        f"{server.address}/b/ (answers 404); "
        f"try again later, or put a copy into '{tmp_path / 'tiny-files'}'."
    )
    assert everything(tmp_path) == {}


def test_a_mirror_that_falls_silent_is_left(server: Server, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not answer in time"):
        fetch("tiny", tmp_path, sources=sources(server, "stalled/"), timeout=(1, 0.2))
    assert everything(tmp_path) == {}


def test_a_mirror_that_does_not_exist_is_told(server: Server, tmp_path: Path) -> None:
    nowhere = {"tiny": Source("tiny-files", {"images": "0"}, ("http://127.0.0.1:1/",))}
    with pytest.raises(DataError, match=r"\(cannot be reached\)"):
        fetch("tiny", tmp_path, sources=nowhere)


def test_a_failure_takes_only_those_folders_away_that_it_made(
    server: Server, tmp_path: Path
) -> None:
    (tmp_path / "kept").mkdir()
    with pytest.raises(DataError, match="answers 404"):
        fetch("tiny", tmp_path / "kept" / "new" / "newer", sources=sources(server, "a/"))
    assert list(tmp_path.rglob("*")) == [tmp_path / "kept"]
    server.answers["/a/images.gz"] = gzip.compress(IMAGES)
    with pytest.raises(DataError, match="No mirror gave labels"):
        fetch("tiny", tmp_path / "new", sources=sources(server, "a/"))
    assert unpacked(tmp_path) == {"images.gz": IMAGES}


def test_an_impatient_user_leaves_nothing_behind(server: Server, tmp_path: Path) -> None:
    lay(server, "a")

    def interrupt(file: str, received: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch("tiny", tmp_path, interrupt, sources(server, "a/"))
    assert list(tmp_path.iterdir()) == []


def archive(members: dict[str, bytes]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, member in members.items():
            bundle.writestr(name, member)
    return content.getvalue()


BUNDLE = archive(
    {
        "gzip/other.gz": b"other",
        "gzip/images.gz": gzip.compress(IMAGES),
        "gzip/labels.gz": gzip.compress(LABELS),
    }
)
AMID = BUNDLE.index(b"gzip/labels.gz") + 20


def test_the_members_of_an_archive_are_fetched_with_one_download(
    server: Server, tmp_path: Path
) -> None:
    server.answers["/gzip.zip"] = BUNDLE
    fetch("tiny", tmp_path, sources=sources(server, "gzip.zip", archive=True))
    assert unpacked(tmp_path) == WHOLE
    assert server.asked == ["/gzip.zip"]
    assert fetch("tiny", tmp_path, sources=sources(server, "gzip.zip", archive=True)) == []
    assert server.asked == ["/gzip.zip"]


@pytest.mark.parametrize(
    ("bundle", "reason"),
    [
        (b"no zip at all", "not a zip file"),
        (archive({"gzip/images.gz": gzip.compress(IMAGES)}), r"does not hold labels\.gz"),
        (archive({"images.gz": b"x", "labels.gz": b"y"}), "is wrong"),
        (
            BUNDLE[:AMID] + b"\xff\xff\xff\xff" + BUNDLE[AMID + 4 :],
            "Bad CRC-32|while decompressing",
        ),
    ],
)
def test_a_bad_archive_is_told_and_the_next_one_taken(
    server: Server, tmp_path: Path, bundle: bytes, reason: str
) -> None:
    server.answers["/bad.zip"] = bundle
    with pytest.raises(DataError, match=reason):
        fetch("tiny", tmp_path, sources=sources(server, "bad.zip", archive=True))
    assert everything(tmp_path) == {}
    server.answers["/good.zip"] = BUNDLE
    fetch("tiny", tmp_path, sources=sources(server, "bad.zip", "good.zip", archive=True))
    assert unpacked(tmp_path) == WHOLE


def test_a_place_that_cannot_be_made_is_told(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(DataError, match=r"^'.*tiny-files' cannot be written"):
        fetch("tiny", tmp_path / "file", sources=sources(server, "a/"))


def test_an_unknown_name_is_told_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"'minst': did you mean 'mnist'\?"):
        fetch("minst", tmp_path)


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_has_mirrors_and_a_checksum_for_each_file(name: str) -> None:
    source = SOURCES[name]
    assert len(source.mirrors) == 2
    assert all(len(bytes.fromhex(digest)) == 32 for digest in source.sha256.values())
    assert all(mirror.endswith(".zip" if source.archive else "/") for mirror in source.mirrors)
