"""The end of the line at which somebody sits: what a ``ServerApp`` shows arrives here."""

import json
import selectors
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

__all__ = ["GONE", "Listener"]

GONE = "gone"  # what is heard when the other end has ended, however it did
PIECE = 2**16


@dataclass(eq=False)
class Listener:
    """Listens at a path for one ``ServerApp`` at a time."""

    path: Path
    _server: socket.socket = field(init=False)
    _selector: selectors.BaseSelector = field(init=False)
    _wire: socket.socket | None = field(init=False, default=None)
    _rest: bytes = field(init=False, default=b"")

    def __enter__(self) -> "Listener":
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(self.path))
        self._server.listen()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._server, selectors.EVENT_READ)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.hang_up()
        self._selector.close()
        self._server.close()

    @property
    def connected(self) -> bool:
        """Whether a ``ServerApp`` is at the other end."""
        return self._wire is not None

    def hang_up(self) -> None:
        """Forget who is at the other end, if anybody is."""
        if self._wire is not None:
            self._selector.unregister(self._wire)
            self._wire.close()
        self._wire, self._rest = None, b""

    def heard(self, seconds: float) -> Iterator[tuple[str, str]]:
        """Yield what is said, and what it is, within so many seconds of silence."""
        for key, _ in self._selector.select(seconds):
            if key.fileobj is self._server:
                self._answer()
            elif key.fileobj is self._wire:  # and not one that another has taken the place of
                yield from self._said()

    def _answer(self) -> None:
        wire, _ = self._server.accept()
        self.hang_up()  # of two the later one is alive
        self._wire = wire
        self._selector.register(wire, selectors.EVENT_READ)

    def _said(self) -> Iterator[tuple[str, str]]:
        assert self._wire is not None
        try:
            text = self._wire.recv(PIECE)
        except ConnectionError:
            text = b""
        if not text:
            self.hang_up()
            yield GONE, ""
            return
        *lines, self._rest = (self._rest + text).split(b"\n")
        for line in lines:
            what, said = json.loads(line)
            yield str(what), str(said)
