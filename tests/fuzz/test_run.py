"""The coverage-guided fuzzer, for a few inputs, if it is installed."""

import os
import re
import subprocess
import sys
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
def test_a_hundred_inputs_of_each_find_nothing_and_leave_nothing(tmp_path: Path) -> None:
    if find_spec("atheris") is None:
        pytest.skip("atheris is not installed; it is made for Linux on x86-64.")
    run = fuzzed(tmp_path, "--inputs", "100")
    assert run.returncode == 0, run.stdout + run.stderr[-5000:]
    _, *runs = re.split(r"^Target (\w+)$", run.stderr, flags=re.M)
    assert runs[::2] == list(TARGETS)
    for said in runs[1::2]:
        executed = re.search(r"stat::number_of_executed_units: +(\d+)", said)
        assert executed is not None, said
        assert int(executed[1]) >= 100
    assert list(tmp_path.iterdir()) == []


def test_without_atheris_it_says_what_to_install(tmp_path: Path) -> None:
    if find_spec("atheris") is not None:
        pytest.skip("atheris is installed.")
    run = fuzzed(tmp_path, "idx")
    assert run.returncode == 2
    assert "atheris is not installed here: 'pip install atheris'" in run.stderr
