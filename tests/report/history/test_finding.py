"""Which runs there are: real ones, finished or not, damaged ones, and none."""

import csv
import json
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest

import flexcfl
from flexcfl.errors import SettingsError
from flexcfl.record.reading import read
from flexcfl.record.summary import FIGURES, figures_in
from flexcfl.report.history import History, runs
from tests.report.folders import construct
from tests.report.runs import ROUNDS, copied

HOLDER = """
import sys, pathlib
from flexcfl.record.lock import locked
with locked(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""
GARBAGE = {
    "summary.json": [
        b"",
        b"[]",
        b"{",
        b'{"accuracy": 3}',
        b'{"accuracy": {"best": "high"}}',
        b'{"accuracy": {"best": 1.5}}',
        b'{"loss": NaN}',
        b'{"loss": 1e999}',
        b'{"loss": true}',
        b'{"traffic": {"transfers": [1]}}',
        b'{"seconds": ' + b"9" * 100 + b"}",
        b'{"a": ' + b"[" * 100 + b"]" * 100 + b"}",
        b'{"seconds": "\\u001b[2J"}',
    ],
    "experiment.toml": [b"x", b"[run]\nrounds = 3", b"\xff", b"a.b.c = 1"],
}


def test_a_finished_run_is_what_its_files_say(folder: Path) -> None:
    (row,) = runs(folder)
    summary = json.loads((folder / "summary.json").read_text())
    assert (row.folder, row.state, row.summary) == (folder, "finished", summary)
    assert row.when.timestamp() == pytest.approx((folder / "summary.json").stat().st_mtime)
    assert row.figures["best"] == summary["accuracy"]["best"]
    assert row.figures["traffic"] == summary["traffic"]["relative_to_fedavg"]
    assert row.figures["done"] == row.settings["run.rounds"] == ROUNDS
    assert (row.value("algorithm"), row.value("run.seed"), row.value("model")) == (
        *("flexcfl", 0, "mclr"),
    )


def test_the_figures_of_rounds_are_those_of_the_summary(folder: Path) -> None:
    run = read(folder)
    assert run.summary is not None
    told = figures_in({**run.summary, **run.so_far})
    assert told == figures_in(run.summary)
    assert sum(value is not None for value in told.values()) > len(FIGURES) / 2


def test_an_interrupted_run_has_its_figures_so_far(stopped: Path) -> None:
    (row,) = runs(stopped)
    with (stopped / "rounds.csv").open() as file:
        lines = list(csv.DictReader(file))
    accuracies = [float(line["accuracy"]) for line in lines if line["accuracy"]]
    assert (row.state, row.summary, row.figures["done"]) == ("interrupted", None, 3)
    assert row.figures["best"] == (max(accuracies) if accuracies else None)
    assert row.figures["migrations"] == sum(int(line["migrated"]) for line in lines)
    assert row.figures["seconds"] is None


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such lock")
def test_a_run_that_somebody_is_at_is_running_until_they_are_gone(
    stopped: Path, tmp_path: Path
) -> None:
    path = copied(stopped, tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert runs(path)[0].state == "running"
        holder.kill()  # which leaves its file behind
        holder.wait()
        assert (path / ".lock").exists()
        assert runs(path)[0].state == "interrupted"


def test_a_run_without_a_round_is_there_with_nothing_so_far(stopped: Path, tmp_path: Path) -> None:
    path = copied(stopped, tmp_path)
    (path / "rounds.csv").unlink()
    (row,) = runs(path)
    assert (row.figures["done"], row.figures["best"], row.figures["traffic"]) == (0, None, None)


def test_rows_become_lines_of_a_table_and_json(folder: Path, stopped: Path) -> None:
    rows = runs(folder, stopped)
    for row in rows:
        assert json.loads(json.dumps(row.content(), allow_nan=False)) == row.content()
        flat = row.flat()
        assert {*row.settings, *FIGURES, "folder", "state", "when"} == set(flat)
        assert asdict(row)["figures"] == row.figures
        assert all(row.value(key) == flat[key] for key in flat)


def test_the_newest_come_first_whatever_their_names(tmp_path: Path) -> None:
    for number in (2, 0, 1):
        construct(tmp_path / f"r{number}", seed=number)
    rows = runs(tmp_path)
    assert [row.when for row in rows] == sorted((row.when for row in rows), reverse=True)
    assert {row.value("seed") for row in rows} == {0, 1, 2}
    assert [row.value("seed") for row in runs(tmp_path, sort="seed", limit=2)] == [0, 1]
    assert [row.value("seed") for row in runs(tmp_path, sort="-seed")] == [2, 1, 0]
    assert [row.value("seed") for row in runs(tmp_path, sort="seed", reverse=True)] == [2, 1, 0]
    assert [row.value("seed") for row in runs(tmp_path, where=["seed>0", "seed<2"])] == [1]


@pytest.mark.parametrize(
    ("name", "content"),
    [(name, content) for name, contents in GARBAGE.items() for content in contents],
)
def test_a_damaged_run_is_told_and_left_out(
    name: str, content: bytes, folder: Path, tmp_path: Path
) -> None:
    good, bad = copied(folder, tmp_path, "good"), copied(folder, tmp_path, "bad")
    (bad / name).write_bytes(content)
    history = History.of([tmp_path])
    assert [row.folder for row in history.rows] == [good]
    (sentence,) = history.left_out
    assert str(bad) in sentence
    assert sentence.isprintable()
    with pytest.raises(SettingsError):
        History.of([bad])
    with pytest.warns(UserWarning, match="bad"):
        assert len(runs(tmp_path)) == 1


def test_a_cohort_of_none_is_damage(stopped: Path, tmp_path: Path) -> None:
    path = copied(stopped, tmp_path)
    file = path / "experiment.toml"
    file.write_text(file.read_text().replace("cohort = ", "cohort = -"))
    with pytest.raises(SettingsError, match="cannot be shown"):
        runs(path)


def test_where_runs_are_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingsError, match="There is no folder 'runs' or 'comparisons' here"):
        runs()
    (tmp_path / "runs").mkdir()
    with pytest.raises(SettingsError, match="There is no run in 'runs'"):
        runs()
    construct(tmp_path / "comparisons" / "mine" / "flexcfl-seed0")
    assert [str(row.folder) for row in runs()] == ["comparisons/mine/flexcfl-seed0"]
    construct(tmp_path / "runs" / "a")
    assert len(runs()) == 2
    assert [str(row.folder) for row in runs("runs")] == ["runs/a"]
    with pytest.raises(SettingsError, match="'nowhere' is not a folder"):
        runs("nowhere")


def test_mistakes_from_python_are_sentences(folder: Path) -> None:
    with pytest.raises(SettingsError, match=r"where must be a list of conditions"):
        runs(folder, where="best>=0.9")
    with pytest.raises(SettingsError, match="limit must be at least 1"):
        runs(folder, limit=0)
    with pytest.raises(SettingsError, match="did you mean 'traffic'"):
        runs(folder, sort="trafic")


def test_an_order_by_what_only_left_out_runs_have_is_no_mistake(folder: Path) -> None:
    (row,) = runs(folder)
    history = History([replace(row, settings={**row.settings, "drift.mine": 1})])
    assert history.view(["seed=99"], "drift.mine") == []


def test_the_package_has_it() -> None:
    assert flexcfl.report.history.runs is runs
