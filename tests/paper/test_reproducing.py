"""A reproduction from folder to files: only what is missing is run, all that is there is shown."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from flexcfl.comparison import worker_pool
from flexcfl.errors import SettingsError
from flexcfl.paper import reproducing
from flexcfl.paper.cells import Cell
from flexcfl.paper.reproducing import make_targets
from flexcfl.paper.targets import Request
from flexcfl.record.lock import locked
from tests.paper.constructed import write_run

ROW = ("synthetic-mclr",)
FILES = ["table3-runs.csv", "table3.csv", "table3.html", "table3.md", "table3.txt"]


@pytest.fixture(autouse=True)
def _nothing_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    # Not every process: Matplotlib starts one that lists fonts where it draws for the first time.
    monkeypatch.setattr(worker_pool, "WorkerProcess", interrupted)


def finish(folder: Path, asked: Request, but: int = 0) -> list[Cell]:
    cells = asked.cells()
    for number, cell in enumerate(cells[: len(cells) - but]):
        if not (folder / cell.folder).exists():
            write_run(folder, cell, best=0.5 + number / 100)
    return cells


def made(asked: Request, folder: Path) -> str:
    """Return what is shown of what is there."""
    screen = io.StringIO()
    make_targets([asked], Console(file=screen, width=80), jobs=1, folder=folder)
    return screen.getvalue()


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_what_is_finished_is_shown_and_written_and_the_same_again(tmp_path: Path) -> None:
    asked = Request("table3", ROW, rounds=6)
    finish(tmp_path, asked)
    first = made(asked, tmp_path)
    files = contents(tmp_path)
    assert sorted(files) == FILES
    assert files["table3.txt"].decode().startswith(first[: first.index("\nwritten")].rstrip("\n"))
    assert b"only 6 rounds" in files["table3.md"]
    assert [line.split(": ")[1] for line in first.splitlines() if line.startswith("written")] == [
        str(tmp_path / f"table3{ending}")
        for ending in (".txt", ".md", ".csv", "-runs.csv", ".html")
    ]
    page = files["table3.html"].decode()
    assert "<h1>Table 3: accuracy without a shift</h1>" in page
    assert "<td>paper</td>" in page
    assert made(asked, tmp_path) == first
    assert contents(tmp_path) == files


def test_a_table_has_all_that_is_finished_also_what_was_not_asked_for(tmp_path: Path) -> None:
    asked = Request("table3", ROW, rounds=6)
    for each in (asked, Request("table3", ("mnist-mclr",), 2, 3), Request("table4", ROW, rounds=6)):
        finish(tmp_path, each)
    made(asked, tmp_path)
    written = contents(tmp_path)["table3.md"].decode()
    assert "| 2 seeds | spread |" in written
    assert "only 3 rounds" in written
    assert "swap-all" not in written
    ours, others = "--only synthetic-mclr --rounds 6", "--only mnist-mclr --seeds 2 --rounds 3"
    command = "flexcfl reproduce table3"
    assert f"Made by `{command} {others}` and `{command} {ours}`." in written


def test_what_only_other_targets_have_run_of_a_row_is_not_in_the_table(tmp_path: Path) -> None:
    asked = Request("choices", ROW, rounds=6)
    finish(tmp_path, asked)
    finish(tmp_path, Request("table3", ("mnist-mclr", *ROW), seeds=2, rounds=6))
    made(asked, tmp_path)
    files = contents(tmp_path)
    lines = files["choices-runs.csv"].decode().splitlines()
    assert len(lines) == 1 + len(asked.cells())
    assert all(line.startswith("synthetic-mclr") for line in lines[1:])
    command = "flexcfl reproduce choices --only synthetic-mclr --rounds 6"
    assert f"Made by `{command}`.".encode() in files["choices.md"]


def test_files_of_other_choices_have_other_names(tmp_path: Path) -> None:
    asked = Request("table3", ROW, rounds=6, chosen=(("l2", "code"),))
    usual = Request("table3", ROW, rounds=6)
    finish(tmp_path, asked)
    finish(tmp_path, usual)
    for each in (asked, usual):
        made(each, tmp_path)
    names = [name.replace("table3", "table3-l2-code") for name in FILES]
    files = contents(tmp_path)
    assert sorted(files) == sorted([*FILES, *names])
    assert b"--choose l2=code`" in files["table3-l2-code.md"]
    for name, own in (("table3", False), ("table3-l2-code", True)):
        _, *lines = files[f"{name}-runs.csv"].decode().splitlines()
        assert {"-l2-code," in line for line in lines} == {own}


@pytest.mark.parametrize("out", [".", "a", "a/b/c"])
def test_if_nothing_came_of_it_nothing_is_left(out: str, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        made(Request("table3", ROW), tmp_path / out)
    assert list(tmp_path.iterdir()) == []


def test_what_was_there_stays_when_nothing_more_comes_of_it(tmp_path: Path) -> None:
    asked = Request("table3", ROW, rounds=6)
    finish(tmp_path / "out", asked, but=1)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(KeyboardInterrupt):
        made(asked, tmp_path / "out")
    assert sorted(tmp_path.rglob("*")) == before


def test_one_that_is_missing_is_said_and_begun(tmp_path: Path) -> None:
    asked, screen = Request("table3", ROW, rounds=6), io.StringIO()
    count = len(finish(tmp_path, asked, but=1))
    with pytest.raises(KeyboardInterrupt):
        make_targets([asked], Console(file=screen, width=200), jobs=2, folder=tmp_path)
    assert screen.getvalue().startswith(f"{count} runs, {count - 1} of them done before, 1 at a")


@pytest.mark.parametrize("target", ["table4", "figure-shift"])
def test_when_the_time_is_over_before_a_row_is_complete_that_is_said(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def timed_out(*words: Any, **_: Any) -> Iterator[None]:
        words[-1].asked = 0
        yield from ()

    monkeypatch.setattr(reproducing, "run_in_processes", timed_out)
    finish(tmp_path, Request(target, ("mnist-mclr",), rounds=3))  # another row, which is there
    screen, asked = io.StringIO(), Request(target, ROW, rounds=6)
    console = Console(file=screen, width=200)
    assert make_targets([asked], console, jobs=1, folder=tmp_path, seconds=600) == []
    assert "The time is over: 0 of 18 runs done" in screen.getvalue()
    assert f"{target}: no row that was asked for is complete yet" in screen.getvalue()


def test_a_folder_in_which_another_process_works_is_left_alone(tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(SettingsError, match="Another process is using"):
        made(Request("table3", ROW), tmp_path)


def test_the_damaged_run_of_another_row_is_told_and_not_passed_over(tmp_path: Path) -> None:
    asked, other = Request("table3", ROW, rounds=6), Request("table3", ("mnist-mclr",), rounds=3)
    finish(tmp_path, asked)
    file = tmp_path / finish(tmp_path, other)[0].folder / "summary.json"
    file.write_text("{")
    with pytest.raises(SettingsError, match=f"'{file}' is damaged: move the folder"):
        made(asked, tmp_path)


def test_a_picture_is_written_twice_and_the_same_again(tmp_path: Path) -> None:
    asked = Request("figure-overhead", ("mnist-mclr",), rounds=4)
    finish(tmp_path, asked)
    made(asked, tmp_path)
    files = contents(tmp_path)
    endings = {name.removeprefix("figure-overhead") for name in files}
    assert endings == {".txt", ".md", ".csv", "-runs.csv", ".svg", ".png", ".html"}
    assert files["figure-overhead.png"].startswith(b"\x89PNG")
    made(asked, tmp_path)
    assert contents(tmp_path) == files
