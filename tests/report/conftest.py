"""For tests of the page: real runs to look at."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import flexcfl
from flexcfl.report.page.page import write_page
from tests.report.browsing import opened
from tests.report.runs import broken_off, made

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ALGORITHMS = ("fedavg", "flexcfl", "ifca")


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
    write_page([runs], out)
    return out


@pytest.fixture(scope="module")
def shared(browser: "Browser", report: Path) -> Iterator["Page"]:
    """Return this page in a browser, for all tests of a module."""
    with opened(browser, report) as page:
        yield page


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a finished run of flexcfl, which nobody may change."""
    return made(tmp_path_factory)


@pytest.fixture(scope="session")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run that was stopped after three rounds."""
    return broken_off(tmp_path_factory, 3)
