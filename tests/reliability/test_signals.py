"""Ctrl-C and SIGTERM: the round is finished, and the run resumes as printed."""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from flexcfl.experiment import toml
from tests.reliability.children import Child, Children
from tests.reliability.small import FLEXCFL, differences, words

ROUNDS, LONG = 12, 100
NAME = 'it\'s a "run" & more; $HOME'  # which a shell would take for something else
# Signals within one process are tested in tests/runner/test_stopping.py.
slow = pytest.mark.slow
SIGNALS = pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["Ctrl-C", "SIGTERM"]
)


def command(out: Path, rounds: int = ROUNDS, epochs: int = 40, clients: int = 8) -> list[str]:
    """Return the command of a run with slow rounds that is seldom saved."""
    more = {"data.clients": clients, "data.examples": 200, "run.checkpoint_rounds": 5}
    return words(FLEXCFL, out, rounds=rounds, epochs=epochs, **more)


@pytest.fixture(scope="module")
def reference(children: Children, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("uninterrupted") / "run"
    assert children.start(*command(folder)).wait() == 0
    return folder


def rows(folder: Path) -> int:
    table = folder / "rounds.csv"
    return table.read_bytes().count(b"\n") - 1 if table.exists() else 0


def until(child: Child, reached: Callable[[], bool]) -> None:
    while not reached():
        assert not child.ended(), child.err.read_text()
        time.sleep(0.001)


@slow
@SIGNALS
def test_the_round_is_ended_and_saved_and_the_printed_command_goes_on(
    number: signal.Signals, code: int, children: Children, reference: Path, tmp_path: Path
) -> None:
    child = children.start(*command(Path(NAME)), cwd=tmp_path)
    until(child, lambda: rows(tmp_path / NAME) >= 2)
    child.send(number)
    assert child.wait() == code
    notice, sentence = child.err.read_text().split("\n")[1:3]
    assert notice == "Stopping after this round; press Ctrl-C again to stop at once."
    told = re.fullmatch(r"Stopped after round (\d+) of 12\. To go on: (.*)", sentence)
    assert told is not None, sentence
    done = int(told[1])
    assert 2 <= done < ROUNDS
    assert rows(tmp_path / NAME) == done
    assert (tmp_path / NAME / "checkpoints" / f"round-{done}.json").exists()
    assert not (tmp_path / NAME / ".lock").exists()
    if number == signal.SIGINT:
        assert typed(told[2], tmp_path) == 0
    else:  # as a shell would read it, but without waiting for a new Python
        assert children.start(*shlex.split(told[2])[1:], "-q", cwd=tmp_path).wait() == 0
    assert differences(tmp_path / NAME, reference) == []


def typed(line: str, here: Path) -> int:
    """Return the exit code of a line that is typed into a shell."""
    program = here / "bin" / "flexcfl"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m flexcfl "$@"\n')
    program.chmod(0o755)
    path = os.pathsep.join([str(program.parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        ["/bin/sh", "-c", f"{line} --quiet"], cwd=here, env=environment, check=False
    ).returncode


@slow
@SIGNALS
def test_a_second_one_stops_at_once_and_does_no_harm(
    number: signal.Signals, code: int, children: Children, tmp_path: Path
) -> None:
    folder, other = tmp_path / "run", tmp_path / "reference"
    child = children.start(*command(folder, rounds=2, epochs=1500))
    whole = children.start(*command(other, rounds=2, epochs=1500))
    until(child, lambda: rows(folder) == 1 and (folder / "timings.csv").exists())
    child.send(number)
    until(child, lambda: "Stopping after this round" in child.err.read_text())
    child.send(number)
    assert child.wait() == code
    assert rows(folder) == 1  # the second round was not waited for
    left = {path.name for path in folder.iterdir()}
    assert not {".lock", "summary.json"} & left
    again = children.start("resume", "-q", str(folder))
    assert again.wait() == 0, again.err.read_text()
    assert whole.wait() == 0
    assert differences(folder, other) == []


@slow
@SIGNALS
def test_while_the_data_are_loaded_nothing_is_left_behind(
    number: signal.Signals, code: int, children: Children, tmp_path: Path
) -> None:
    folder = tmp_path / "new" / "run"
    many = [word for word in command(folder, clients=300_000) if word != "-q"]
    child = children.start(*many)
    until(child, lambda: "clusters" in child.out.read_text())
    child.send(number)
    assert child.wait() == code
    assert child.err.read_text() in ("Interrupted.\n", "Terminated.\n")
    assert list(tmp_path.iterdir()) == []


@slow
def test_while_a_run_is_found_again_nothing_is_lost(children: Children, tmp_path: Path) -> None:
    folder, rng = tmp_path / "run", np.random.default_rng(0)
    # Each interruption takes a round or, on a busy machine, several: there must be enough of them.
    begin, whole = command(folder, rounds=LONG), tmp_path / "uninterrupted"
    assert children.start(*command(whole, rounds=LONG)).wait() == 0
    child = children.start(*begin)
    for _ in range(6):
        until(child, lambda: (folder / ".lock").exists())
        time.sleep(rng.uniform(0, 0.04))
        child.send(signal.SIGINT)
        assert child.wait() == 130, child.err.read_text()
        begun = (folder / "rounds.csv").exists()
        child = children.start(*(["resume", "-q", str(folder)] if begun else begin))
    assert child.wait() == 0, child.err.read_text()
    assert differences(folder, whole) == []


# Read by Python before anything else: sends Ctrl-C when a module is first imported.
EARLY = """
import os
import signal
import sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["AT_IMPORT_OF"]:
            os.kill(os.getpid(), 2)

signal.signal(signal.SIGINT, signal.default_int_handler)  # even if a parent ignores it
del sys.modules["signal"]
sys.meta_path.insert(0, Finder())
"""


def script() -> str:
    """Return the program of the script ``flexcfl``, as installers write it."""
    project = toml.read(Path(__file__).parents[2] / "pyproject.toml")["project"]
    module, name = project["scripts"]["flexcfl"].split(":")
    return f"import sys; from {module} import {name}; sys.exit({name}())"


@pytest.mark.parametrize("words", [["-m", "flexcfl"], ["-c", script()]], ids=["module", "script"])
@pytest.mark.parametrize("module", ["signal", "typer", "flexcfl.cli.runs"])
def test_while_the_command_is_imported_it_is_one_line(
    module: str, words: list[str], tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(EARLY)
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    environment = {**os.environ, "PYTHONPATH": path, "AT_IMPORT_OF": module}
    done = subprocess.run(
        [sys.executable, *words, "--version"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "Interrupted.\n")


@slow
def test_who_is_deaf_to_ctrl_c_stays_so(
    children: Children, reference: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    child = children.start(*command(folder), deaf=True)
    until(child, lambda: rows(folder) >= 2)
    child.send(signal.SIGINT)
    assert child.wait() == 0
    assert child.err.read_text() == ""
    assert differences(folder, reference) == []


@slow
def test_in_the_last_round_the_run_simply_ends(children: Children, tmp_path: Path) -> None:
    folder, other = tmp_path / "run", tmp_path / "reference"
    whole = children.start(*command(other, rounds=1, epochs=300))
    child = children.start(*command(folder, rounds=1, epochs=300))
    until(child, lambda: (folder / "checkpoints" / "round-0.json").exists())
    child.send(signal.SIGINT)
    assert child.wait() == 0
    assert "Stopping after this round" in child.err.read_text()
    assert whole.wait() == 0
    assert differences(folder, other) == []
