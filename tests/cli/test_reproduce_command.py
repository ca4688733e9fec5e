"""``flexcfl reproduce``: what a person types, sees and finds."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from flexcfl.cli import app, main
from flexcfl.paper.catalogue import ROUNDS, ROWS
from flexcfl.paper.cells import CHOICES
from flexcfl.paper.targets import TARGETS
from tests.cli.processes import interrupted, started
from tests.cli.refusals import told
from tests.comparison.here import all_done_here

pytestmark = pytest.mark.usefixtures("here")

COMMAND: Any = typer.main.get_command(app).commands["reproduce"]  # type: ignore[attr-defined]
SHORT = ["--only", "synthetic-mclr", "--rounds", "6"]  # five rounds until everybody has a group
TABLE = ["reproduce", "table4", *SHORT, "--jobs", "2"]
TABLES = ["table4-runs.csv", "table4.csv", "table4.html", "table4.md", "table4.txt"]


def refusal(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    return told(capsys, "reproduce", *words)


def test_the_command_alone_lists_what_can_be_reproduced(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce"]) == 0
    lines = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    assert lines == [[name, target.summary] for name, target in TARGETS.items()]
    assert list(here.iterdir()) == []


def test_the_help_names_every_target_as_it_is() -> None:
    listed = re.search(r"\[TARGET\]\.\.\. is (.*?)\.\s", COMMAND.help, re.S)
    assert listed
    paper, ours = listed[1].split(", or one of ours: ")
    said = set(re.split(r",\s+", paper))
    said |= {clause.split()[0] for clause in re.split(r",\s+", ours)}
    assert said == TARGETS.keys()


def test_the_help_names_every_row_as_it_is() -> None:
    (only,) = [option for option in COMMAND.params if option.name == "only"]
    listed = re.search(r"The rows: (.*?)\.", only.help)
    assert listed
    assert listed[1].split(", ") == list(ROWS)


def test_the_help_lists_every_choice_with_its_values_as_they_are() -> None:
    lines = re.findall(r"^ +([\w-]+)=([\w|-]+)  +\w", COMMAND.help, re.M)
    listed = {name: values.split("|") for name, values in lines}
    assert listed == {name: list(choice.values) for name, choice in CHOICES.items()}
    assert list(listed) == list(CHOICES)


def test_the_help_names_the_defaults() -> None:
    helps = {option.name: option.help for option in COMMAND.params if hasattr(option, "help")}
    assert f"[default: {ROUNDS}]" in helps["rounds"]
    defaults = {option.name: option.default for option in COMMAND.params}
    assert f"[default: {defaults['seeds']}]" in helps["seeds"]
    assert f"[default: {defaults['out']}]" in helps["out"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("tabel3", "There is no table or figure 'tabel3': did you mean 'table3'?"),
        ("table3 --only mnist", "There is no row 'mnist': did you mean 'mnist-"),
        ("table3 --only mnist-mclr,x", "There is no row 'x'. Known: "),
        ("table1 --only mnist-mlp", "did you mean 'mnist-mclr'? Known: mnist-mclr."),
        ("table3 --only ,", "--only names no row"),
        ("table3 --choose sharin=additive", "no choice 'sharin': did you mean 'sharing'?"),
        ("table3 --choose sharing=add", "no sharing to choose 'add': did you mean 'additive'?"),
        ("table3 --choose l2=[1]", "There is no l2 to choose '[1]'."),
        ("table3 --choose additive", "is not of the form KEY=VALUE, such as sharing=additive."),
        ("choices --choose l2=code", "There is nothing to choose for 'choices'"),
        ("table3 --seeds 0", "seeds must be a whole number from 1 to 1000, not 0"),
        ("table3 --seeds many", "--seeds"),
        ("table3 --rounds 0", "[run] rounds must be greater than or equal to 1, not 0"),
        ("table2 --seeds 2", "'table2' has no runs: leave --seeds and --rounds out"),
        ("table3 --rounds 1.5", "--rounds"),
        ("table3 --jobs -1", "jobs must be a whole number from 1 to 1000, not -1"),
        ("table3 tabel4", "There is no table or figure 'tabel4'"),
        ("table3 --for 10", "'10' is no time to work: say it such as 150m, 2h30m or 90s."),
        ("table3 --for 0m", "'0m' is no time to work"),
        ("table3 --out file", "The folder 'file' cannot be used"),
        ("table3 --out file/below", "The folder 'file/below' cannot be used"),
    ],
)
def test_a_mistake_is_one_sentence_before_anything_is_done(
    words: str,
    sentence: str,
    here: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(subprocess, "Popen", None)
    (here / "file").touch()
    assert sentence in refusal(capsys, *words.split())
    assert [path.name for path in here.iterdir()] == ["file"]


def test_the_list_and_mistakes_do_not_wait_for_torch() -> None:
    program = """
import sys
from flexcfl.cli import main
assert main(["reproduce", "--help"]) == 0
assert main(["reproduce"]) == 0
assert main(["reproduce", "tabel3"]) == 2
assert main(["reproduce", "table3", "--only", "minst"]) == 2
heavy = {"torch", "matplotlib"} & set(sys.modules)
assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of Table 4 without interruption."""
    out = tmp_path_factory.mktemp("reproduction") / "whole"
    with all_done_here():
        assert main([*TABLE, "--out", str(out), "-q"]) == 0
    return out


def states(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


def contents(folder: Path, *endings: str) -> dict[str, bytes]:
    files = [path for path in folder.iterdir() if path.name.endswith(endings)]
    return {path.name: path.read_bytes() for path in files if path.is_file()}


@pytest.mark.slow
def test_a_table_is_left_with_all_its_runs(whole: Path) -> None:
    assert sorted(path.name for path in whole.iterdir()) == ["runs", *TABLES]
    shifts = ("incremental", "swap-all", "swap-part")
    assert sorted(path.name for path in (whole / "runs").iterdir()) == [
        f"synthetic-mclr-{shift}-rounds6" for shift in shifts
    ]
    assert len(list(whole.glob("runs/*/*-seed0/summary.json"))) == 18
    assert not list(whole.rglob("checkpoints"))
    text = (whole / "table4.txt").read_text()
    assert len(re.findall(r"^only 6 rounds ", text, re.M)) == 3
    assert "Made by `flexcfl reproduce table4 --only synthetic-mclr --rounds 6`." in text


@pytest.mark.slow
def test_a_second_call_and_the_figure_of_the_same_runs_run_nothing(
    whole: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "flexcfl.comparison.worker_pool.WorkerProcess", None
    )  # nobody is there to run anything
    runs, tables = states(whole / "runs"), contents(whole, ".csv", ".md", ".txt")
    assert main([*TABLE, "--out", str(whole)]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Table 4: accuracy under three shifts\n")
    assert f"written: {whole}/table4.md\n" in shown
    assert contents(whole, ".csv", ".md", ".txt") == tables
    figure = ["reproduce", "figure-shift", *SHORT, "--out", str(whole)]
    try:
        assert main([*figure, "-q"]) == 0
        pictures = contents(whole, ".svg", ".png")
        assert sorted(pictures) == ["figure-shift.png", "figure-shift.svg"]
        assert pictures["figure-shift.svg"].count(b"only 6 rounds") >= 3
        assert main([*figure, "-q"]) == 0
        assert contents(whole, ".svg", ".png") == pictures
    finally:
        for path in whole.glob("figure-shift*.*"):
            path.unlink()
    assert states(whole / "runs") == runs


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("synthetic-mclr-swap-all-rounds6/fedavg", "--algorithm fedavg --shift swap-all"),
        (
            "synthetic-mclr-swap-part-rounds6/flexcfl-eta5",
            "--algorithm flexcfl --shift swap-part --set algorithm.eta_g=5",
        ),
        ("synthetic-mclr-incremental-rounds6/ifca", "--algorithm ifca --shift incremental"),
    ],
)
def test_a_run_is_what_flexcfl_run_leaves(cell: str, words: str, whole: Path, here: Path) -> None:
    settings = ["--dataset", "synthetic", "--rounds", "6", *words.split()]
    assert main(["run", *settings, "--out", "mine", "-q"]) == 0
    mine, theirs = here / "mine", whole / "runs" / f"{cell}-seed0"
    assert {path.name for path in mine.iterdir()} == {path.name for path in theirs.iterdir()}
    for name in ("experiment.toml", "rounds.csv", "groups.csv", "ledger.csv", "membership.csv"):
        assert (mine / name).read_bytes() == (theirs / name).read_bytes(), name


def without_seconds(folder: Path) -> dict[str, bytes]:
    """Return the tables, but for the time that each run has taken."""
    found = contents(folder, *TABLES)
    lines = found["table4-runs.csv"].splitlines()
    return {**found, "table4-runs.csv": b"\n".join(line.rpartition(b",")[0] for line in lines)}


@pytest.mark.slow
def test_after_ctrl_c_the_same_command_goes_on_to_the_same_tables(
    whole: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with started(*TABLE[:-1], "1") as command:
        err = interrupted(command, r"[1-9]\d* of 18 runs done")
    out = here / "reproduction"
    complete = list(out.glob("runs/*/*/summary.json"))
    assert 0 < len(complete) < 18
    assert err.endswith(
        f"Stopped with {len(complete)} of 18 runs complete. To go on: give the same command again\n"
    )
    assert sorted(path.name for path in out.iterdir()) == ["runs"]
    before = {path: path.stat().st_mtime_ns for path in complete}
    capsys.readouterr()
    assert main([*TABLE, "--for", "1s"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"18 runs, {len(complete)} of them done before, 2 at a time")
    over = re.search(
        r"^The time is over: (\d+) of 18 runs done after .* To go on: give", shown, re.M
    )
    assert over
    done = int(over[1])
    assert len(complete) <= done < 18
    assert len(list(out.glob("runs/*/*/summary.json"))) == done
    assert "table4: no row that was asked for is complete yet" in shown
    with all_done_here():
        assert main(TABLE) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"18 runs, {done} of them done before, 2 at a time")
    assert {path: path.stat().st_mtime_ns for path in complete} == before
    assert without_seconds(out) == without_seconds(whole)


@pytest.mark.slow
def test_ctrl_c_before_a_run_has_begun_leaves_nothing(here: Path) -> None:
    with started(*TABLE, "--out", "new/out") as command:
        interrupted(command, "18 runs, 2 at a time, in 'new/out'")
    assert list(here.iterdir()) == []


@pytest.mark.slow
def test_table_2_counts_what_is_loaded(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "table2", "--only", "synthetic-mclr"]) == 0
    assert "Synthetic(1,1)-MCLR  ours" in capsys.readouterr().out
    written = (here / "reproduction" / "table2.md").read_text()
    assert re.search(
        r"^\| Synthetic\(1,1\)-MCLR \| ours \| 100 \| [\d,]+ \| 610 \|$", written, re.M
    )
    assert re.search(r"^\|  \| paper \| 100 \| 75,349 \| 610 \|$", written, re.M)
    assert "- Made by `flexcfl reproduce table2 --only synthetic-mclr`." in written
    assert sorted(path.name for path in here.rglob("*")) == [
        "reproduction",
        *("table2.csv", "table2.md", "table2.txt"),
    ]
