"""The coverage-guided fuzzer, for a few seconds where it is installed."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import pytest

from fuzz.targets import TARGETS

ROOT = Path(__file__).parents[2]


def fuzzed(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "fuzz" / "run.py"), *words]
    environment = {**os.environ, "TMPDIR": str(folder)}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_some_seconds_find_nothing_and_leave_nothing(tmp_path: Path) -> None:
    if find_spec("atheris") is None:
        pytest.skip("atheris is not installed; it is made for Linux and Python 3.11 or newer.")
    with ThreadPoolExecutor(2) as pair:
        runs = pair.map(lambda target: fuzzed(tmp_path, target, "--seconds", "2"), TARGETS)
        for run in runs:
            assert run.returncode == 0, run.stdout + run.stderr[-5000:]
            assert "stat::number_of_executed_units" in run.stderr
    assert list(tmp_path.iterdir()) == []


def test_without_atheris_it_says_what_to_install(tmp_path: Path) -> None:
    if find_spec("atheris") is not None:
        pytest.skip("atheris is installed.")
    run = fuzzed(tmp_path, "idx")
    assert run.returncode == 2
    assert "atheris is not installed here: 'pip install atheris'" in run.stderr
