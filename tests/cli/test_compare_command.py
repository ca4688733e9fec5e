"""``flexcfl compare``: what a person types, sees and finds."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from flexcfl.cli import main
from tests.cli.refusals import told

SHORT = ["--rounds", "2", "--cohort", "5", "--epochs", "1", "--set", "data.clients=10"]


pytestmark = pytest.mark.usefixtures("here")


def refusal(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    return told(capsys, "compare", *words)


@pytest.mark.slow
def test_a_comparison_shows_its_settings_its_progress_its_table_and_leaves_a_folder(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["fedavg", "ifca", "--seeds", "1", "--groups", "2", *SHORT]
    assert main(["compare", *words]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"^local +epochs 1, batch 10", shown, re.M)
    assert re.search(r"^ifca +groups 2, ", shown, re.M)
    assert re.search(r"^2 of 2 runs done after \d+:\d\d: fedavg 2/2 \d", shown, re.M)
    assert re.search(r"^ algorithm +best +final +transfers +MB +migrations +seconds$", shown, re.M)
    assert re.search(r"^ fedavg +\d+\.\d +\d+\.\d +x1\.00 ", shown, re.M)
    assert re.search(r"^folder +comparisons/digits-mclr-1$", shown, re.M)
    assert all(line == line.rstrip() for line in shown.splitlines())
    folder = here / "comparisons" / "digits-mclr-1"
    assert {"fedavg-seed0", "ifca-seed0", "comparison.svg"} < {p.name for p in folder.iterdir()}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("fedavg fedpro", "There is no algorithm 'fedpro': did you mean 'fedprox'?"),
        ("fedavg fedavg", "'fedavg' is named twice"),
        ("--seeds 0", "seeds must be a whole number from 1 to 1000, not 0"),
        ("--seeds many", "--seeds"),
        ("--jobs 0", "jobs must be a whole number from 1 to 1000, not 0"),
        ("--dataset minst", "There is no dataset 'minst': did you mean 'mnist'?"),
        ("fedavg --groups 3", "'fedavg' trains one model for everybody and has no groups"),
        ("--set algorithm.eta=1", "None of the algorithms (fedavg, ifca, flexcfl) has a setting"),
        ("--set rate=1", "'rate' does not say which table it belongs to"),
        ("--out full", "'full' exists already and is not an empty folder"),
        ("--rounds 0", "[run] rounds must be greater than or equal to 1, not 0."),
    ],
)
def test_a_mistake_is_one_sentence_before_a_process_is_started(
    words: str,
    sentence: str,
    here: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(subprocess, "Popen", None)
    (here / "full").mkdir()
    (here / "full" / "file").touch()
    assert sentence in refusal(capsys, *words.split())
    assert [path.name for path in here.iterdir()] == ["full"]


@pytest.mark.slow
def test_a_run_that_fails_is_named_and_ends_the_others(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    diverging = ["--model", "mlp", "--rate", "1e30", "--rounds", "1"]
    sentence = refusal(capsys, "fedavg", "ifca", "--jobs", "1", *diverging, "-q")
    assert sentence.startswith("'fedavg' with seed 0 failed: The loss of client ")
    assert list(here.iterdir()) == []


@pytest.mark.slow
def test_ctrl_c_ends_all_processes_and_keeps_what_is_complete(here: Path) -> None:
    words = ["compare", "fedavg", "ifca", "--seeds", "99", "--out", "mine", *SHORT]
    with subprocess.Popen(
        [sys.executable, "-m", "flexcfl", *words],
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as command:
        assert command.stdout is not None
        while not re.match(r"[1-9]\d* of 198 runs done", command.stdout.readline()):
            assert command.poll() is None
        os.killpg(command.pid, signal.SIGINT)
        # Were a process left behind, the output that it has inherited would not end.
        out, err = command.communicate(timeout=10)
    assert (command.returncode, err) == (130, "Interrupted.\n")
    complete = len(list(here.glob("mine/*/summary.json")))
    assert out.endswith(
        f"{complete} of 198 runs are complete; they and the rounds so far of others are in "
        "'mine'.\n"
    )
    assert not list(here.rglob("*.part"))
    assert not (here / "mine" / "comparison.csv").exists()


@pytest.mark.slow
def test_no_process_outlives_a_parent_that_is_killed(here: Path) -> None:
    words = ["compare", "fedavg", "--seeds", "2", "--rounds", "1000000", "--out", "mine"]
    command = [sys.executable, "-m", "flexcfl", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as parent:
        while not list(here.glob("mine/*/rounds.csv")):
            assert parent.poll() is None
        parent.kill()
        parent.communicate(timeout=10)  # would not end before they do
    assert not list(here.rglob("*.part"))
