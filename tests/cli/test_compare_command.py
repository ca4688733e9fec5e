"""``flexcfl compare``: what a person types, sees and finds."""

import re
import subprocess
from pathlib import Path

import pytest

from flexcfl.cli import main
from tests.cli.processes import interrupted, started
from tests.cli.refusals import told
from tests.comparison.here import all_done_here

SHORT = ["--rounds", "2", "--cohort", "5", "--epochs", "1", "--set", "data.clients=10"]


pytestmark = pytest.mark.usefixtures("here")


def refusal(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    return told(capsys, "compare", *words)


@pytest.mark.slow
def test_a_comparison_shows_its_settings_its_progress_its_table_and_leaves_a_folder(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["fedavg", "ifca", "--seeds", "1", "--groups", "2", *SHORT]
    with all_done_here():
        assert main(["compare", *words]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"^local +epochs 1, batch 10", shown, re.M)
    assert re.search(r"^ifca +groups 2, ", shown, re.M)
    assert re.search(r"^2 of 2 runs done after \d+:\d\d: fedavg 2/2 \d", shown, re.M)
    assert re.search(r"^ algorithm +final +best +traffic +MB +migrations +seconds$", shown, re.M)
    assert re.search(r"^ fedavg +\d+\.\d +\d+\.\d +x1\.00 ", shown, re.M)
    assert re.search(r"^folder +comparisons/digits-mclr-1$", shown, re.M)
    assert all(line == line.rstrip() for line in shown.splitlines())
    folder = here / "comparisons" / "digits-mclr-1"
    assert {"fedavg-seed0", "ifca-seed0", "report.html"} < {p.name for p in folder.iterdir()}


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
    with all_done_here():
        sentence = refusal(capsys, "fedavg", "ifca", "--jobs", "1", *diverging, "-q")
    assert sentence.startswith("'fedavg' with seed 0 failed: The training of all ")
    assert list(here.iterdir()) == []


@pytest.mark.slow
def test_ctrl_c_ends_all_processes_and_keeps_what_is_complete(here: Path) -> None:
    words = ["compare", "fedavg", "ifca", "--seeds", "99", "--out", "mine", *SHORT]
    with started(*words) as command:
        err = interrupted(command, r"[1-9]\d* of 198 runs done")
    complete = len(list(here.glob("mine/*/summary.json")))
    last = f"Stopped with {complete} of 198 runs complete. To go on: flexcfl resume mine\n"
    assert err.endswith(last)
    assert not list(here.rglob("*.part"))
    assert not (here / "mine" / "comparison.csv").exists()


BEGUN = """
algorithms = ["fedavg", "ifca", "flexcfl"]
seeds = 3
[settings.run]
rounds = 5
"""
OWN = """
algorithms = ["fedavg"]
seeds = 1
[own_data]
clients = 3
classes = 2
shape = [30, 4]
checksums = [1, 2, 3, 4]
"""


@pytest.mark.parametrize(
    ("words", "content", "sentence"),
    [
        ("compare --out it", BEGUN, "'it' holds another comparison, where [run] rounds is not"),
        ("compare fedavg --out it", BEGUN, "'it' holds another comparison, of fedavg, ifca, flex"),
        (
            "compare --seeds 2 --rounds 5 --out it",
            BEGUN,
            "'it' holds another comparison, of 3 seed",
        ),
        ("compare --out it", "seeds = 3", "'it/comparison.toml' needs the setting 'algorithms'"),
        ("resume it", "seeds", "'it/comparison.toml' is not TOML"),
        ("resume it", OWN, "resume it there with flexcfl.compare and the same arguments."),
        ("resume it --jobs 0", BEGUN, "jobs must be a whole number from 1 to 1000, not 0"),
        ("resume it/x --jobs 2", BEGUN, "'it/x' holds one run, not a comparison: leave --jobs out"),
    ],
)
def test_what_is_in_a_folder_is_not_mixed_with_anything_else(
    words: str,
    content: str,
    sentence: str,
    here: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(subprocess, "Popen", None)
    (here / "it" / "x").mkdir(parents=True)
    (here / "it" / "x" / "experiment.toml").touch()
    (here / "it" / "comparison.toml").write_text(content)
    assert sentence in told(capsys, *words.split())
    left = {str(path.relative_to(here)) for path in here.rglob("*")}
    assert left == {"it", "it/comparison.toml", "it/x", "it/x/experiment.toml"}
