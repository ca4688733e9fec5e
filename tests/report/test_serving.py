"""The page as it is served: real questions over the loopback, while runs come, grow and go."""

import gzip
import json
import shutil
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from flexcfl.errors import SettingsError
from flexcfl.report.page import Report, html
from flexcfl.report.page.page import page_state
from flexcfl.report.page.serving import address, server
from tests.report.runs import ROUNDS, copied
from tests.report.served import served
from tests.waiting import PATIENCE


@dataclass(frozen=True)
class Answer:
    status: int
    head: dict[str, str]
    content: bytes

    @property
    def text(self) -> str:
        packed = self.head.get("Content-Encoding") == "gzip"
        return (gzip.decompress(self.content) if packed else self.content).decode()


@dataclass(frozen=True)
class Visitor:
    host: str
    port: int

    def ask(self, path: str, method: str = "GET", **head: str) -> Answer:
        connection = HTTPConnection(self.host, self.port, timeout=PATIENCE)
        try:
            headers = {name.replace("_", "-"): value for name, value in head.items()}
            connection.request(method, path, headers=headers)
            given = connection.getresponse()
            return Answer(given.status, dict(given.getheaders()), given.read())
        finally:
            connection.close()


@contextmanager
def visited(folders: Sequence[Path], host: str = "127.0.0.1", port: int = 0) -> Iterator[Visitor]:
    with served(folders, host, port) as serving:
        name, free_port = serving.server_address[:2]
        yield Visitor(str(name), free_port)


@pytest.fixture(scope="session")
def visitor(folder: Path) -> Iterator[Visitor]:
    with visited([folder]) as found:
        yield found


def test_the_page_its_state_and_its_chapters_are_those_of_the_book(
    visitor: Visitor, folder: Path
) -> None:
    report = Report.of([folder])
    page = visitor.ask("/")
    assert (page.status, page.head["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert page.text == html(report, live=True)
    assert json.loads(visitor.ask("/state?again").text) == as_json(page_state(report, live=True))
    for name in report.chapters():
        given = visitor.ask(f"/chapter/{name}")
        assert (given.status, given.head["Content-Type"]) == (200, "application/json")
        assert json.loads(given.text) == report.chapter(name)


def as_json(value: object) -> Any:
    return json.loads(json.dumps(value))


def test_what_has_not_changed_is_not_sent_again(visitor: Visitor) -> None:
    stamp = visitor.ask("/state").head["ETag"]
    same = visitor.ask("/state", If_None_Match=stamp)
    assert (same.status, same.content, same.head["ETag"]) == (304, b"", stamp)
    assert visitor.ask("/state", If_None_Match='"other"').status == 200


@pytest.mark.parametrize(
    "path",
    [
        *("/nothing", "/chapter/", "/chapter/9", "/chapter/0-9", "/chapter/-1", "/chapter/0-"),
        *("/chapter/x", "/../../etc/passwd", "/chapter/../0", "/state/", "/0", "/%00", "/run"),
        *("/experiment.toml", "//etc/passwd", "/chapter/..%2f..%2fexperiment.toml"),
        "/chapter/../rounds.csv",
    ],
)
def test_there_is_nothing_else(path: str, visitor: Visitor) -> None:
    given = visitor.ask(path)
    assert (given.status, given.text) == (404, "There is no such page.")


def test_a_head_is_an_answer_without_its_content(visitor: Visitor) -> None:
    given, asked = visitor.ask("/"), visitor.ask("/", "HEAD")
    assert (asked.status, asked.content) == (200, b"")
    assert asked.head["ETag"] == given.head["ETag"]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_nothing_can_be_changed(method: str, visitor: Visitor) -> None:
    assert visitor.ask("/", method).status == 501


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "", "127.0.0.1.evil.example",
                                  "10.0.0.1", "[", "localhost.evil", "0.0.0.0"])  # fmt: skip
def test_pages_from_elsewhere_get_no_answer_by_a_name_that_leads_here(
    host: str, visitor: Visitor
) -> None:
    for path in ("/", "/state", "/chapter/0"):
        given = visitor.ask(path, Host=host)
        assert (given.status, given.text) == (403, "This page is only for this machine.")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8000", "127.0.0.1", "[::1]", "[::1]:80"])
def test_this_machine_gets_an_answer_by_all_its_own_names(host: str, visitor: Visitor) -> None:
    assert visitor.ask("/state", Host=host).status == 200


def test_answers_are_neither_kept_nor_taken_for_something_else(visitor: Visitor) -> None:
    for path in ("/", "/state", "/nothing"):
        head = visitor.ask(path).head
        assert (head["Cache-Control"], head["X-Content-Type-Options"]) == ("no-store", "nosniff")
        assert "Python" not in head["Server"]


def test_a_run_that_grows_is_followed(folder: Path, tmp_path: Path) -> None:
    path = copied(folder, tmp_path)
    (path / "summary.json").unlink()
    lines = (path / "rounds.csv").read_bytes().splitlines(keepends=True)
    (path / "rounds.csv").write_bytes(b"".join(lines[:3]))
    with visited([path]) as visitor:
        first = visitor.ask("/state")
        assert json.loads(first.text)["status"] == f"round 2 of {ROUNDS}"
        with (path / "rounds.csv").open("ab") as file:
            file.write(lines[3])
        second = visitor.ask("/state", If_None_Match=first.head["ETag"])
        assert second.status == 200
        assert json.loads(second.text)["status"] == f"round 3 of {ROUNDS}"
        charts = {each["name"]: each for each in json.loads(visitor.ask("/chapter/0").text)}
        assert charts["loss"]["data"][0]["x"] == [1, 2, 3]


def test_a_run_that_begins_later_is_followed_as_well(folder: Path, tmp_path: Path) -> None:
    copied(folder, tmp_path, "first")
    with visited([tmp_path]) as visitor:
        stamp = visitor.ask("/state").head["ETag"]
        copied(folder, tmp_path, "second")
        given = visitor.ask("/state", If_None_Match=stamp)
        assert len(json.loads(given.text)["settings"][0]["runs"]) == 2


def test_what_cannot_be_read_for_a_moment_is_shown_as_it_was(folder: Path, tmp_path: Path) -> None:
    path = copied(folder, tmp_path)
    with visited([path]) as visitor:
        before = visitor.ask("/state")
        shutil.move(path, tmp_path / "away")
        assert visitor.ask("/state").text == before.text
        shutil.move(tmp_path / "away", path)
        content = (path / "rounds.csv").read_bytes()
        (path / "rounds.csv").write_bytes(b"garbage\n")
        assert visitor.ask("/state").text == before.text
        (path / "rounds.csv").write_bytes(content[: content.rstrip().rfind(b"\n") + 1])
        assert visitor.ask("/state").text != before.text


def test_files_that_are_none_of_a_run_make_no_difference(folder: Path, tmp_path: Path) -> None:
    path = copied(folder, tmp_path)
    with visited([path]) as visitor:
        stamp = visitor.ask("/state").head["ETag"]
        (path / ".#rounds.csv").symlink_to("somebody@somewhere.1:2")  # as an editor does
        (path / ".rounds.csv.part").touch()
        assert visitor.ask("/state", If_None_Match=stamp).status == 304


def test_where_there_is_no_run_nothing_is_served(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="There is no run in"), visited([tmp_path]):
        pass


def test_a_port_that_is_taken_is_followed_by_the_next_one(folder: Path) -> None:
    with visited([folder]) as first, visited([folder], port=first.port) as second:
        assert first.port < second.port < first.port + 20
        assert second.ask("/state").text == first.ask("/state").text


def test_if_no_port_is_free_it_is_told(folder: Path) -> None:
    with ExitStack() as held:
        last = held.enter_context(socket.socket())
        last.bind(("127.0.0.1", 65535))
        last.listen()
        with pytest.raises(SettingsError, match=r"port 65535 .*: choose another --port or --host"):
            held.enter_context(server([folder], "127.0.0.1", 65535))


@pytest.mark.parametrize("host", ["192.0.2.1", "no..name", "x" * 300, "not an address", "::g"])
def test_an_address_that_is_not_ours_is_told(host: str, folder: Path) -> None:
    with (
        pytest.raises(SettingsError, match=r"The page cannot be served at .*choose another --port"),
        server([folder], host, 0),
    ):
        pass


@pytest.mark.parametrize("host", ["::1", "127.0.0.2"])
def test_other_addresses_of_this_machine(host: str, folder: Path) -> None:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with socket.socket(family) as probe:
            probe.bind((host, 0))
    except OSError:
        pytest.skip(f"this machine has no {host}")
    with visited([folder], host) as visitor:
        assert visitor.ask("/state").status == 200


def test_the_address_is_one_for_a_browser(folder: Path) -> None:
    with server([folder], "127.0.0.1", 0) as serving:
        assert address(serving) == f"http://127.0.0.1:{serving.server_address[1]}/"


def test_who_hangs_up_or_talks_nonsense_disturbs_nobody(
    visitor: Visitor, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (b"", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", b"\0\xff nonsense\r\n\r\n"):
        with socket.create_connection((visitor.host, visitor.port)) as gone:
            gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            gone.sendall(words)
    assert visitor.ask("/state").status == 200
    assert "Traceback" not in capsys.readouterr().err
