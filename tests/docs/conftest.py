"""For tests of the documentation: the site, built once, and served to this machine."""

import functools
import http.server
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runner.tracking.conftest import empty_store, store  # noqa: F401  (pages about MLflow use them)

ROOT = Path(__file__).parents[2]
QUIET = {"NO_MKDOCS_2_WARNING": "1"}  # Material's word on its own future


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the site; whatever its makers warn of is an error."""
    pytest.importorskip("material", reason="needs flexcfl[docs]")
    folder = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    built = subprocess.run(
        words, cwd=ROOT, env=os.environ | QUIET, capture_output=True, text=True, timeout=300
    )
    assert built.returncode == 0, built.stderr
    return folder


class Silent(http.server.SimpleHTTPRequestHandler):
    """Serves files, and says nothing of it."""

    def log_message(self, *_: object) -> None:
        """Keep the tests' output for the tests."""


@pytest.fixture(scope="module")
def served(site: Path) -> Iterator[str]:
    """Return the address of the site while it is served."""
    handler = functools.partial(Silent, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
