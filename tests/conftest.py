"""For all tests: one thread for small matrices, no clock for properties, and a browser."""

import os
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

# Before NumPy and torch are there: with more threads the small models of the tests take twice as
# long. Tests of several threads ask for them.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Where tests run in several processes these are told how wide the terminal of the first one is.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.pop("COLUMNS", None)

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser

QUIET = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync")

# A busy machine is no fault of the code.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with Flower's processes, which wait for each other while other tests can go on."""
    items.sort(key=lambda item: item.get_closest_marker("processes") is None)


# Not for a whole session: while it is there, the thread has a running event loop, which tests of
# others that run one of their own could not bear.
@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    """Hold a browser; without one, tests are skipped with the reason."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    chromium = os.environ.get("FLEXCFL_CHROMIUM") or shutil.which("chromium")
    if not chromium:
        pytest.skip("there is no chromium: install it, or name one in FLEXCFL_CHROMIUM")
    with playwright.sync_playwright() as running:
        found = running.chromium.launch(executable_path=chromium, args=list(QUIET))
        yield found
        found.close()
