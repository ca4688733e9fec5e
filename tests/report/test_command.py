"""``flexcfl report`` and ``flexcfl watch``: what a person types, sees and finds."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from flexcfl.cli import main
from flexcfl.report.page import Report, html
from tests.cli.refusals import told
from tests.report.runs import made
from tests.waiting import PATIENCE


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_report_is_the_page_and_says_where_it_is(
    here: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(folder)]) == 0
    shown = capsys.readouterr().out
    assert re.fullmatch(r"written: report\.html \(1 run, \d\.\d MB\)", shown.splitlines()[-1])
    assert (here / "report.html").read_text() == html(Report.of([folder]))
    assert [path.name for path in here.iterdir()] == ["report.html"]


def test_several_folders_a_title_and_a_file_of_ones_own(
    here: Path, folder: Path, tmp_path_factory: pytest.TempPathFactory,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    other = made(tmp_path_factory, "fedavg")
    words = [str(folder), str(other), "-o", "my page.html", "--title", "Mine"]
    assert main(["report", *words]) == 0
    assert "written: my page.html (2 runs, " in capsys.readouterr().out
    page = (here / "my page.html").read_text()
    assert page == html(Report.of([folder, other]), "Mine")
    assert "<h1>Mine</h1>" in page


def test_quiet_says_nothing(here: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(folder), "--quiet"]) == 0
    assert (*capsys.readouterr(), (here / "report.html").exists()) == ("", "", True)


def test_a_report_is_written_over_an_older_one(here: Path, folder: Path) -> None:
    (here / "report.html").write_text("old")
    assert main(["report", str(folder), "-q"]) == 0
    assert (here / "report.html").read_text().startswith("<!DOCTYPE html>")


def test_a_title_may_hold_bytes_that_are_no_text(here: Path, folder: Path) -> None:
    assert main(["report", str(folder), "-q", "--title", os.fsdecode(b"\xff<b>")]) == 0
    assert "<h1>?&lt;b&gt;</h1>" in (here / "report.html").read_text()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("nowhere", "'nowhere' is not a folder: name the folder of a run"),
        ("empty", "There is no run in 'empty': name a folder that 'flexcfl run', 'compare' or"),
        ("RUN nowhere", "'nowhere' is not a folder"),
        ("RUN -o missing/page.html", "'missing/page.html' cannot be written (No such file"),
        ("RUN -o empty", "'empty' is a folder: name the file to write, such as empty/report.html."),
        ("RUN -o .", "'.' is a folder: name the file to write, such as report.html."),
        ("RUN -o ..", "'..' is a folder: name the file to write"),
        ("RUN -o /", "'/' is a folder: name the file to write, such as /report.html."),
        ("", "Missing argument 'RUN...': 'flexcfl report --help' shows what it takes."),
    ],
)
def test_a_mistake_is_one_sentence(
    words: str, sentence: str, here: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "empty").mkdir()
    typed = [str(folder) if word == "RUN" else word for word in words.split()]
    assert sentence in told(capsys, "report", *typed)
    assert [path.name for path in here.iterdir()] == ["empty"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("nowhere", "'nowhere' is not a folder"),
        ("RUN --port 70000", "--port"),
        ("RUN --host 192.0.2.1", "The page cannot be served at '192.0.2.1', port 8000 ("),
    ],
)
def test_a_mistake_in_watching_is_one_sentence(
    words: str, sentence: str, here: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = [str(folder) if word == "RUN" else word for word in words.split()]
    assert sentence in told(capsys, "watch", *typed)


def test_watching_says_where_and_ends_with_ctrl_c(here: Path, folder: Path) -> None:
    words = [sys.executable, "-u", "-m", "flexcfl", "watch", str(folder), "--port", "0"]
    # A shell may ignore this signal for background jobs, and child processes inherit that.
    program = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    words[2:4] = ["-c", f"{program}from flexcfl.cli import main; sys.exit(main(sys.argv[1:]))"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        try:
            assert run.stdout is not None
            shown = run.stdout.readline()
            where = re.fullmatch(r"Watching at (http://127\.0\.0\.1:\d+/) \(Ctrl-C .*\)\n", shown)
            assert where
            with urlopen(where[1], timeout=PATIENCE) as answer:
                assert answer.status == 200
            run.send_signal(signal.SIGINT)
            _, errors = run.communicate(timeout=PATIENCE)
            assert (run.returncode, errors) == (130, "Interrupted.\n")
        finally:
            run.kill()
