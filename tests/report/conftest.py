"""For tests of the page: real runs to look at."""

from pathlib import Path

import pytest

import flexcfl
from flexcfl.report.page.page import write

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
    write([runs], out)
    return out
