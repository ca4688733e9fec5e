"""The page served on this machine, which follows runs while they go on.

It only reads the folders of runs. Every answer is made from what they hold at that moment, so it
does not matter whether a run is begun, interrupted, resumed or finished meanwhile.
"""

import errno
import gzip
import hashlib
import json
import socket
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from socketserver import TCPServer
from typing import Any
from urllib.parse import urlsplit

from flexcfl.errors import FlexcflError, SettingsError
from flexcfl.record.reading import FILES, find_runs, read
from flexcfl.record.record import Record
from flexcfl.report.page.content import Report
from flexcfl.report.page.page import html, page_state

__all__ = ["address", "server"]

TRIES = 20  # ports after the one asked for
PATIENCE = 30  # seconds for whoever asks to say so, and to take the answer
HTML, JSON = "text/html; charset=utf-8", "application/json"


@contextmanager
def server(folders: Sequence[Path], host: str, port: int) -> Iterator[ThreadingHTTPServer]:
    """Hold a server of the page of the runs in these folders; ``serve_forever`` makes it answer."""
    latest = _Latest(folders)
    latest.get()  # whatever is wrong with the folders is told before anybody looks
    serving = _first_free(host, port, latest)
    try:
        yield serving
    finally:
        serving.server_close()


def address(serving: ThreadingHTTPServer) -> str:
    """Return where a browser finds the page."""
    host, port = serving.server_address[:2]
    name = str(host)
    return f"http://{f'[{name}]' if ':' in name else name}:{port}/"


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # On Windows, where this lets two programs have the same port, Python leaves it off as well.

    def __init__(self, where: tuple[str, int], latest: "_Latest") -> None:
        self.latest = latest
        self.address_family = socket.AF_INET6 if ":" in where[0] else socket.AF_INET
        super().__init__(where, _Handler)

    def server_bind(self) -> None:
        """Take the port without asking anybody for this machine's name, which may take long."""
        TCPServer.server_bind(self)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of those who have gone while they asked."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


def _first_free(host: str, port: int, latest: "_Latest") -> _Server:
    """Return a server on the first port that is free, from the one that is asked for on."""
    for candidate in range(port, min(port + TRIES, 2**16)) if port else [0]:
        try:
            return _Server((host, candidate), latest)
        # A name that no machine can have is a ValueError, or a TypeError where it is no text.
        except (OSError, TypeError, ValueError) as error:
            trouble: Exception = error
            if getattr(error, "errno", None) != errno.EADDRINUSE:
                break
    raise SettingsError(
        f"No page can be served at '{host}', port {port} "
        f"({getattr(trouble, 'strerror', trouble)}): choose another --port or --host."
    )


class _Latest:
    """The newest report, read again only when a file has changed."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self.folders = folders
        self._lock = threading.Lock()
        self._known: tuple[str, Report] | None = None
        self._runs: dict[Path, tuple[str, Record]] = {}

    def get(self) -> tuple[str, Report]:
        """Return the report after a stamp that changes with it.

        While a file is being replaced it may not be readable for a moment: then it is the last one.
        """
        with self._lock:
            try:
                stamp = _stamp(self.folders)
                if self._known is None or stamp != self._known[0]:
                    self._known = stamp, Report.of(self.folders, self._read)
            except (FlexcflError, OSError):
                if self._known is None:
                    raise
            return self._known

    def _read(self, path: Path) -> Record:
        """Return a run, read again only if it has changed: of many runs few go on."""
        stamp = _stamp([path])
        known = self._runs.get(path)
        if known is None or known[0] != stamp:
            self._runs[path] = known = (stamp, read(path))
        return known[1]


def _stamp(folders: Sequence[Path]) -> str:
    known = [_known(folder / name) for folder in find_runs(folders) for name in FILES]
    return f'"{hashlib.sha256(repr(known).encode()).hexdigest()[:20]}"'


def _known(file: Path) -> tuple[object, ...]:
    try:
        about = file.lstat()
    except OSError:  # a run that goes on does not have all
        return (str(file),)
    return (str(file), about.st_size, about.st_mtime_ns, about.st_ino)


def _json(content: object) -> str:
    return json.dumps(content, allow_nan=False)


class _Handler(BaseHTTPRequestHandler):
    """Answers for the page, what is new of it, and the charts of one setting or run."""

    server: _Server
    timeout = PATIENCE
    server_version, sys_version = "flexcfl", ""

    def do_GET(self) -> None:
        """Answer a question."""
        if not self._is_local():
            self._send_text(HTTPStatus.FORBIDDEN, "This page is for this machine alone.")
            return
        try:
            stamp, report = self.server.latest.get()
            self._answer(stamp, report)
        except (FlexcflError, OSError) as error:
            self._send_text(HTTPStatus.SERVICE_UNAVAILABLE, str(error))

    do_HEAD = do_GET  # noqa: N815

    def _answer(self, stamp: str, report: Report) -> None:
        path = self.path.partition("?")[0]
        name = path.removeprefix("/chapter/")
        if path == "/":
            self._content(HTML, html(report, live=True), stamp)
        elif path == "/state" and self.headers.get("If-None-Match") == stamp:
            self._send(HTTPStatus.NOT_MODIFIED, b"", {"ETag": stamp})
        elif path == "/state":
            self._content(JSON, _json(page_state(report, live=True)), stamp)
        elif path != name and name in report.chapters():
            self._content(JSON, _json(report.chapter(name)), stamp)
        else:
            self._send_text(HTTPStatus.NOT_FOUND, "There is no such page.")

    def _is_local(self) -> bool:
        """Whether the question was meant for this machine.

        Of a server that only this machine reaches, pages from elsewhere could ask by a name of
        theirs that leads here (DNS rebinding).
        """
        host = str(self.server.server_address[0])
        if not ip_address(host).is_loopback:
            return True
        try:
            asked = urlsplit(f"//{self.headers.get('Host', '')}").hostname or ""
            return asked == "localhost" or ip_address(asked).is_loopback
        except ValueError:  # a name of somebody's
            return False

    def _content(self, kind: str, content: str, stamp: str) -> None:
        packed = gzip.compress(content.encode("utf-8", "replace"), 1)
        head = {"Content-Type": kind, "Content-Encoding": "gzip", "ETag": stamp}
        self._send(HTTPStatus.OK, packed, head)

    def _send_text(self, status: HTTPStatus, sentence: str) -> None:
        self._send(status, sentence.encode(), {"Content-Type": "text/plain; charset=utf-8"})

    def _send(self, status: HTTPStatus, content: bytes, head: dict[str, str]) -> None:
        try:
            self.send_response(status)
            for name, value in {**head, "Cache-Control": "no-store"}.items():
                self.send_header(name, value)
            self.send_header("X-Content-Type-Options", "nosniff")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)
        except OSError:
            pass  # whoever asked has gone

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing about questions: they come every two seconds."""
