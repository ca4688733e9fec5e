"""A disk without room ends a run with one sentence, and with room again it goes on."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.reliability.children import Children
from tests.reliability.small import FESEM, differences, words

pytestmark = pytest.mark.slow


def large(out: Path) -> list[str]:
    """Return the command of a run with checkpoints of a hundred thousand bytes each."""
    data = {"data.clients": 40, "data.features": 400, "data.examples": 60}
    return words(FESEM, out, rounds=8, cohort=5, **data)


@pytest.mark.parametrize("most", [5_000, 60_000])
def test_files_that_may_not_be_larger(most: int, children: Children, tmp_path: Path) -> None:
    folder, reference = tmp_path / "run", tmp_path / "reference"
    child = children.start(*large(folder), most=most)
    assert child.wait() == 2
    said = child.err.read_text()
    assert said.startswith(f"Error: '{folder}/"), said
    assert "cannot be written (File too large): make room" in said
    assert said.count("\n") == 1
    names = {path.name for path in folder.rglob("*")}
    assert not {name for name in names if name.endswith((".part", ".lock"))}
    assert "rounds.csv" in names
    assert children.start("resume", "-q", str(folder)).wait() == 0
    assert children.start(*large(reference)).wait() == 0
    assert differences(folder, reference) == []


SCRIPT = """
mount -t tmpfs -o size=400k tmpfs {place} || exit 77
exec {python} -c {program} {place} {folder} {copy} {run} 2> {told}
"""
# One process for both commands: all that they need takes longer to import than they take.
PROGRAM = """
import shutil, subprocess, sys
from flexcfl.cli import main
_, place, folder, copy, *words = sys.argv
sys.stderr.write(f"{main(words)}\\n")
subprocess.run(["mount", "-o", "remount,size=20m", place], check=True)
assert main(["resume", "-q", folder]) == 0
shutil.copytree(folder, copy)
"""


@pytest.mark.skipif(shutil.which("unshare") is None, reason="there is no unshare")
def test_a_tiny_file_system_that_runs_full(children: Children, tmp_path: Path) -> None:
    place, told, copy = (tmp_path / name for name in ("tiny", "told", "copy"))
    place.mkdir()
    folder, reference = place / "run", tmp_path / "reference"
    values = {"python": sys.executable, "place": place, "told": told, "folder": folder}
    values |= {"copy": copy, "program": PROGRAM}
    quoted = {name: shlex.quote(str(value)) for name, value in values.items()}
    script = SCRIPT.format(run=shlex.join(large(folder)), **quoted)
    done = subprocess.run(
        ["unshare", "-rm", "/bin/sh", "-c", script],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        check=False,
    )
    if not told.exists():
        pytest.skip(f"this system does not let us mount: {done.stderr.decode()}")
    assert done.returncode == 0, done.stderr
    said, code = told.read_text().splitlines()
    assert "cannot be written (No space left on device): make room" in said
    assert code == "2"
    assert children.start(*large(reference)).wait() == 0
    assert differences(copy, reference) == []
