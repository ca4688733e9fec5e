"""For tests in a browser: Chromium where there is one, and real runs to look at."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import flexcfl
from flexcfl.report.writing import write

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ALGORITHMS = ("fedavg", "flexcfl", "ifca")
QUIET = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync")


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


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with real runs: three algorithms, two seeds, clients that swap their data."""
    folder = tmp_path_factory.mktemp("runs")
    for algorithm in ALGORITHMS:
        for seed in (0, 1):
            flexcfl.run(
                dataset="digits",
                algorithm=algorithm,
                rounds=8,
                epochs=2,
                shift="swap-all",
                seed=seed,
                set={"run.cohorts": "round-robin-then-uniform"},
                out=folder / f"{algorithm}-seed{seed}",
            )
    return folder


@pytest.fixture(scope="session")
def report(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of these runs."""
    out = tmp_path_factory.mktemp("page") / "report.html"
    write([runs], out)
    return out
