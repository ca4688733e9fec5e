"""For all tests: a world, one thread for small matrices, no clock for properties, a browser."""

import gc
import os
import shutil
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

# Before NumPy and torch are there: with more threads the small models of the tests take twice as
# long. Tests of several threads ask for them.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import settings

from tests.world import WorldPlugin

if TYPE_CHECKING:
    from playwright.sync_api import Browser

QUIET = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync")

# A busy machine is no fault of the code.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


def pytest_addoption(parser: pytest.Parser) -> None:
    told = "the seed of what the tests may not depend on: terminal, zone, locale, home, path, order"
    parser.addoption("--world", type=int, default=0, metavar="SEED", help=told)


@pytest.hookimpl(tryfirst=True)  # before pytest itself chooses the temporary folder
def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(WorldPlugin(config), "world")
    gc.disable()  # while ten thousand tests are made, of which none goes


def pytest_collection_finish() -> None:
    """Let no collection of garbage look through all tests and modules again."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with Flower's processes, which wait for each other while other tests can go on."""
    items.sort(key=lambda item: item.get_closest_marker("processes") is None)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return settings that make Rich assume a terminal without colours, of this width."""

    def of(columns: int) -> None:
        told = {"COLUMNS": str(columns), "TTY_COMPATIBLE": "1", "TERM": "xterm", "NO_COLOR": "1"}
        for name, value in told.items():
            monkeypatch.setenv(name, value)

    return of


# Not for a whole session: while it is open, the thread has a running event loop, and tests that
# run their own event loop would fail.
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
