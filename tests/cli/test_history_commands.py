"""``flexcfl runs``, ``show`` and ``diff``: what a person sees, and what a program gets."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flexcfl.cli import main
from tests.cli.refusals import told
from tests.report.folders import construct
from tests.report.runs import ROUNDS, broken_off, copied, made

PAGE = Path(__file__).parents[2] / "docs" / "history.md"
HOSTILE = "\x1b[2J[red]\x07"
TERMINAL, COLOUR = re.compile(r"\x1b\[[\d;]*m"), re.compile(r"\x1b\[([\d;]*;)?3\dm")


@pytest.fixture
def some(here: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Stand where there are three runs, one of them interrupted."""
    copied(made(tmp_path_factory), here / "runs", "mine")
    copied(made(tmp_path_factory, "fedavg", seed=1), here / "runs", "plain")
    copied(broken_off(tmp_path_factory, 3), here / "runs", "stopped")
    return here


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(list(words)) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def test_runs_are_listed_one_line_each(some: Path, capsys: pytest.CaptureFixture[str]) -> None:
    head, *lines = printed(capsys, "runs").splitlines()
    assert head.split()[:3] == ["folder", "algorithm", "dataset"]
    assert {line.split()[0] for line in lines} == {"runs/mine", "runs/plain", "runs/stopped"}
    (stopped,) = (line for line in lines if "stopped" in line)
    assert f" 3/{ROUNDS}  interrupted " in stopped
    assert all(line == line.rstrip() for line in lines)


def test_runs_can_be_filtered_ordered_and_cut(
    some: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def names(*words: str) -> list[str]:
        return [line.split()[0] for line in printed(capsys, "runs", *words).splitlines()[1:]]

    assert names("--where", "algorithm=fedavg") == ["runs/plain"]
    assert names("-w", "state=finished", "-w", "seed=0") == ["runs/mine"]
    assert names("--sort", "folder") == ["runs/mine", "runs/plain", "runs/stopped"]
    assert names("--sort", "-folder", "--limit", "1") == ["runs/stopped"]
    assert names("--sort", "folder", "--reverse", "--limit", "1") == ["runs/stopped"]
    assert names("--sort", "done")[-1] == "runs/stopped"
    assert names("runs/mine") == ["runs/mine"]


def test_nothing_that_fits_is_said_and_no_mistake(
    some: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["runs", "--where", "seed=99"]) == 0
    assert capsys.readouterr() == ("", "None of 3 runs matches.\n")
    assert json.loads(printed(capsys, "runs", "--where", "seed=99", "--json")) == []


def test_json_is_complete(some: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found: list[dict[str, Any]] = json.loads(printed(capsys, "runs", "--json", "--sort", "folder"))
    assert [run["folder"] for run in found] == ["runs/mine", "runs/plain", "runs/stopped"]
    for run in found[:2]:
        summary = json.loads((some / run["folder"] / "summary.json").read_text())
        assert run["summary"] == summary
        assert run["settings"]["run.seed"] == summary["seed"]
    assert found[2]["summary"] is None
    one = json.loads(printed(capsys, "show", "runs/mine", "--json"))
    assert {name: one[name] for name in found[0]} == found[0]
    apart = json.loads(printed(capsys, "diff", "runs/mine", "runs/plain", "--json"))
    assert apart["settings"]["run.seed"] == [0, 1]
    assert set(apart["same"]) | set(apart["settings"]) == {
        *found[0]["settings"],
        *found[1]["settings"],
    }


def test_a_run_is_shown(some: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = printed(capsys, "show", "runs/mine")
    for words in (
        "runs/mine",
        "finished",
        "flexcfl run runs/mine/experiment.toml",
        f"rounds {ROUNDS} (default 100)",
        "best ",
        " training ",
        "rounds.csv",
        "torch ",
    ):
        assert words in shown
    assert "flexcfl resume runs/stopped" in printed(capsys, "show", "runs/stopped")


def test_runs_are_held_against_each_other(some: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = printed(capsys, "diff", "runs/mine", "runs/plain", "runs/stopped")
    assert [line.split() for line in shown.splitlines()[:3]] == [
        ["A", "runs/mine"],
        ["B", "runs/plain"],
        ["C", "runs/stopped"],
    ]
    assert "accuracy, C and A: the same to the last digit in all 3 rounds" in shown
    assert "local.batch" not in shown
    assert "local.batch" in printed(capsys, "diff", "runs/mine", "runs/plain", "--all")


def test_a_damaged_run_is_said_beside_the_others(
    some: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (some / "runs" / "plain" / "summary.json").write_text("{")
    assert main(["runs"]) == 0
    captured = capsys.readouterr()
    assert len(captured.out.splitlines()) == 3
    assert captured.err.startswith("The run in 'runs/plain' cannot be shown")
    assert captured.err.count("\n") == 1
    for words in (["runs", "runs/plain"], ["show", "runs/plain"], ["diff", "runs/plain", "runs"]):
        assert "'runs/plain' cannot be shown" in told(capsys, *words)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("runs", "There is no folder 'runs' or 'comparisons' here: name a folder with runs"),
        ("runs nowhere", "'nowhere' is not a folder: name the folder of a run"),
        ("runs empty", "There is no run in 'empty'"),
        ("runs RUN --where bst>=1", "no figure 'bst': did you mean 'best'?"),
        ("runs RUN --where best", "'best' is not of the form KEY=VALUE"),
        ("runs RUN --where best>=90", "best is a share between 0 and 1"),
        ("runs RUN --sort lss", "no figure 'lss': did you mean 'loss'?"),
        ("runs RUN --limit 0", "limit must be at least 1, not 0"),
        ("runs RUN --limit x", "'x' is not a valid integer"),
        ("show", "Missing argument"),
        ("show nowhere", "'nowhere' is not a folder"),
        ("show empty", "There is no run in 'empty'"),
        ("show several", "There are 2 runs in 'several': name one of them, such as 'several/a'"),
        ("diff", "Missing argument"),
        ("diff RUN", "A comparison needs two or more runs: name another one."),
        ("diff RUN nowhere", "'nowhere' is not a folder"),
        ("diff RUN several", "There are 2 runs in 'several'"),
    ],
)
def test_mistakes_are_one_sentence(
    words: str,
    sentence: str,
    here: Path,
    tmp_path_factory: pytest.TempPathFactory,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (here / "empty").mkdir()
    construct(here / "several" / "a")
    construct(here / "several" / "b")
    run = str(made(tmp_path_factory))
    assert sentence in told(capsys, *(word.replace("RUN", run) for word in words.split()))


def test_hostile_names_move_no_terminal(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    construct(here / "runs" / HOSTILE, method=HOSTILE, dataset=HOSTILE, model=HOSTILE)
    construct(here / "runs" / "b")
    (here / "runs" / "b" / "summary.json").write_text("{")
    strange = str(Path("runs", HOSTILE))
    assert main(["runs"]) == 0
    captured = capsys.readouterr()
    pieces = [*captured.out.split("\n"), *captured.err.split("\n")]
    for words in (["show", strange], ["diff", strange, strange], ["show", strange, "--json"]):
        pieces += printed(capsys, *words).split("\n")
    assert all(piece.isprintable() for piece in pieces)
    assert "\\x1b[2J[red]" in captured.out


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("bare", [False, True])
def test_a_terminal_of_any_width_with_and_without_colours(
    width: int,
    bare: bool,
    some: Path,
    terminal: Callable[[int], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    terminal(width)
    if not bare:
        monkeypatch.delenv("NO_COLOR")
    for words in (["runs"], ["show", "runs/stopped"], ["diff", "runs/mine", "runs/plain"]):
        shown = printed(capsys, *words)
        assert all(len(TERMINAL.sub("", line)) <= width for line in shown.splitlines())
        assert "\x1b[" in shown
        assert bool(COLOUR.search(shown)) == (not bare)


def test_a_list_does_not_wait_for_torch(some: Path) -> None:
    program = """
import sys
from flexcfl.cli import main
assert main(["runs"]) == 0
assert main(["show", "runs/mine"]) == 0
assert main(["diff", "runs/mine", "runs/plain"]) == 0
heavy = {"torch", "sklearn", "scipy"} & set(sys.modules)
assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


@pytest.mark.slow
def test_the_page_on_it_works_as_it_stands(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```(console|python)\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert {language for language, _ in blocks} == {"console", "python"}
    for language, block in blocks:
        if language == "python":
            exec(block, {})
            continue
        for line in block.splitlines():
            name, *words = shlex.split(line, comments=True)
            assert name == "flexcfl"
            assert main(words) == 0, line
    assert "runs/second" in capsys.readouterr().out
