"""For all tests: one thread, no clock for properties, no wait for the disk, and a browser."""

import os
import shutil
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

# Before NumPy and torch are there: with more threads the small models of the tests take twice as
# long. Tests of several threads ask for them.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Where tests run in several processes these are told how wide the terminal of the first one is.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.pop("COLUMNS", None)

import pytest
import typer.main
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


@pytest.fixture(autouse=True, scope="session")
def _one_command() -> Iterator[None]:
    """Make Click's commands out of Typer's once, and not for each call, which takes 10 ms."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("typer.main.get_command", cache(typer.main.get_command))
        yield


@pytest.fixture(autouse=True, scope="session")
def _no_wait_for_the_disk() -> Iterator[None]:
    """Let nobody in this process wait until the disk has what was written.

    No test could see the difference: what a power cut leaves is told by the calls alone, and the
    commands that tests start in processes of their own do wait.
    """
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("os.fsync", lambda file: os.fstat(file) and None)
        yield


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
