"""The live page: a server on this machine that follows runs while they continue.

It only reads the folders of runs. Every answer is made from their current content, so a run may
start, stop, resume or finish at any time.
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

TRIES = 20  # ports to try, beginning with the requested one
PATIENCE = 30  # seconds in which a browser must send its request and read the answer
HTML, JSON = "text/html; charset=utf-8", "application/json"


@contextmanager
def server(folders: Sequence[Path], host: str, port: int) -> Iterator[ThreadingHTTPServer]:
    """Open a server for the page of the runs in these folders; ``serve_forever`` starts it."""
    latest = _Latest(folders)
    latest.get()  # raise errors about the folders before the server starts
    serving = _first_free(host, port, latest)
    try:
        yield serving
    finally:
        serving.server_close()


def address(serving: ThreadingHTTPServer) -> str:
    """Return the address of the page for a browser."""
    host, port = serving.server_address[:2]
    name = str(host)
    return f"http://{f'[{name}]' if ':' in name else name}:{port}/"


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, where: tuple[str, int], latest: "_Latest") -> None:
        self.latest = latest
        self.address_family = socket.AF_INET6 if ":" in where[0] else socket.AF_INET
        super().__init__(where, _Handler)

    def server_bind(self) -> None:
        """Bind the port without a lookup of this machine's name, which may be slow."""
        TCPServer.server_bind(self)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that closed the connection."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


def _first_free(host: str, port: int, latest: "_Latest") -> _Server:
    """Return a server on the first free port, beginning with the requested one."""
    for candidate in range(port, min(port + TRIES, 2**16)) if port else [0]:
        try:
            return _Server((host, candidate), latest)
        # An invalid host name raises a ValueError, or a TypeError if it is not a string.
        except (OSError, TypeError, ValueError) as error:
            trouble: Exception = error
            if getattr(error, "errno", None) != errno.EADDRINUSE:
                break
    raise SettingsError(
        f"The page cannot be served at '{host}', port {port} "
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
        """Return a stamp and the report; the stamp changes with the report.

        A file that is being replaced may be unreadable for a moment. Then this returns the last
        report.
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
        """Return a run, read again only if it has changed: of many runs, most are finished."""
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
    except OSError:  # an unfinished run does not have all files
        return (str(file),)
    return (str(file), about.st_size, about.st_mtime_ns, about.st_ino)


def _json(content: object) -> str:
    return json.dumps(content, allow_nan=False)


class _Handler(BaseHTTPRequestHandler):
    """Answers requests for the page, its current state, and the charts of a setting or run."""

    server: _Server
    timeout = PATIENCE
    server_version, sys_version = "flexcfl", ""

    def do_GET(self) -> None:
        """Answer a request."""
        if not self._is_local():
            self._send_text(HTTPStatus.FORBIDDEN, "This page is only for this machine.")
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
        """Return whether the request names this machine as its host.

        Otherwise a web page from elsewhere could reach a local server through a host name that
        resolves to this machine (DNS rebinding).
        """
        host = str(self.server.server_address[0])
        if not ip_address(host).is_loopback:
            return True
        try:
            asked = urlsplit(f"//{self.headers.get('Host', '')}").hostname or ""
            return asked == "localhost" or ip_address(asked).is_loopback
        except ValueError:  # a host name, not an address
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
            pass  # the browser closed the connection

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Do not log requests: they come every two seconds."""
