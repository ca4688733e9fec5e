"""The page of runs, served from this process."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path

from flexcfl.report.page.serving import server
from tests.waiting import PATIENCE

__all__ = ["served"]


@contextmanager
def served(
    folders: Sequence[Path], host: str = "127.0.0.1", port: int = 0
) -> Iterator[ThreadingHTTPServer]:
    """Serve the page of these runs while a test looks at it."""
    with server(folders, host, port) as serving:
        thread = threading.Thread(target=serving.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield serving
        finally:
            serving.shutdown()
            thread.join(PATIENCE)
