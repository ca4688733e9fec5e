"""What every command says to somebody clumsy or unlucky, and to terminals that show no colours."""

import json
import os
import pty
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flexcfl
import flexcfl.report.history
from flexcfl.cli import main
from flexcfl.errors import SettingsError
from tests.cli.refusals import told
from tests.waiting import PATIENCE

ESCAPE, COLOUR = "\x1b", re.compile(r"\x1b\[([\d;]*;)?[349]\d")
NO_TEXT = "caf\udce9"  # as Python has a byte of the command line that is not UTF-8
HELP = "--help' shows what it takes."

# What is typed, and what is said of it: always the thing by its name, and what to do next.
MISTAKES = [
    (["nonsense"], f"No such command 'nonsense': 'flexcfl {HELP}"),
    (["data", "nonsense"], f"No such command 'nonsense': 'flexcfl data {HELP}"),
    (["rn"], "No such command 'rn'. Did you mean 'run', 'runs'?"),
    (["run", "--xyzzy"], f"No such option '--xyzzy': 'flexcfl run {HELP}"),
    (["run", "--lr", "0.1"], "No such option '--lr': did you mean '--rate'?"),
    (["run", "--batch_size", "5"], "No such option '--batch_size': did you mean '--batch'?"),
    (["run", "--clients-per-round=5"], "'--clients-per-round': did you mean '--cohort'?"),
    (["run", "--n-clusters", "3"], "No such option '--n-clusters': did you mean '--groups'?"),
    (["run", "--random-state", "3"], "No such option '--random-state': did you mean '--seed'?"),
    (["compare", "--random-state", "3"], "'--random-state': did you mean '--seeds'?"),
    (["compare", "--algorithm", "ifca"], "'--algorithm': did you mean the argument ALGORITHM?"),
    (["run", "--weight-decay", "1"], "did you mean '--set local.l2=VALUE'?"),
    (["data", "inspect", "digits", "--partition", "iid"], "'--set data.partition=VALUE'?"),
    (["data", "inspect", "digits", "--set", "n_clients=3"], "did you mean 'clients'?"),
    (["run", "--optimizer", "adam"], "No such option '--optimizer': clients train by SGD with one"),
    (["run", "--set", "local.momentum=1"], "no setting 'momentum': clients train by SGD with one"),
    (["run", "--set", "local.learning_rate=1"], "no setting 'learning_rate': did you mean 'rate'?"),
    (["run", "--set", "run.lr=1"], "[run] has no setting 'lr': did you mean 'local.rate'?"),
    (["run", "--set", "lr=1"], "name both with a dot between, such as local.rate."),
    (["resume", "mine", "--batch", "5"], f"No such option '--batch': 'flexcfl resume {HELP}"),
    (["run", "--set", "local.rate=1", "--set", "local.rate=2"], "'local.rate' is set twice: set"),
    (["run", "--set", "drift=mmd", "--set", "drift.name=mmd"], "'drift.name' is set twice: set it"),
    (["data", "inspect", "digits", "--set", "seed=1", "--set", "data.seed=2"], "'seed' is set twi"),
    (
        ["compare", "flexcfl", "--groups", "3", "--groups", "5", "--seeds", "0"],
        "'--groups' is given more than once: give it once.",
    ),
    (["report", "mine", "--out", "a.html", "-o", "b.html"], "'--out' is given more than once: gi"),
    (["run", "--rounds", "many"], f"'many' is not a valid integer: 'flexcfl run {HELP}"),
    (["run", "a.toml", "b.toml"], f"unexpected extra argument (b.toml): 'flexcfl run {HELP}"),
    (["run", "--quiet=yes"], "'--quiet' does not take a value: add --help to see"),
    (["show"], f"Missing argument 'RUN': 'flexcfl show {HELP}"),
    (["diff"], f"Missing argument 'RUN RUN...': 'flexcfl diff {HELP}"),
    (["resume"], f"Missing argument 'DIR': 'flexcfl resume {HELP}"),
    (["export"], f"Missing argument 'RUN': 'flexcfl export {HELP}"),
    (["watch"], f"Missing argument 'RUN...': 'flexcfl watch {HELP}"),
    (["place", "mine"], f"Missing option '--data': 'flexcfl place {HELP}"),
    (
        ["place", "mine", "--data", "new.npz", "--seed", "9" * 30],
        "The newcomer's seed must be less",
    ),
    (["place", "mine", "--data", "short.npz"], "'short.npz' cannot be read as .npz (File is not a"),
    (["place", "mine", "--data", "pipe"], "There is no file 'pipe': name the newcomer's .npz"),
    (["watch", "mine", "--host", NO_TEXT], "choose another --port or --host."),
    (["report", "mine", "-o", "pipe"], "'pipe' is a link, a device or a pipe"),
    (["report", "mine", "-o", "link"], "'link' is a link, a device or a pipe"),
    (["run", "bad.toml"], "The experiment 'bad.toml' is not TOML (Expected ']' at the end of a"),
    (["run", "bad.toml"], "correct it there, or name another file."),
    (
        ["run", "bytes.toml"],
        "its byte 1 is not UTF-8 text: correct it there, or name another file.",
    ),
    (["run", "long.toml"], "is longer than 65536 bytes: name the right file."),
    (["run", "--groups", NO_TEXT], "[algorithm] groups must be UTF-8 text, not 'caf\\udce9'."),
    (["run", "--set", f"local.rate={NO_TEXT}"], "[local] rate must be UTF-8 text, not"),
    (["data", "inspect", "digits", "--set", f"{NO_TEXT}=1"], "digits has no setting 'caf\\udce9'"),
    (
        ["export", "older"],
        "its summary.json is damaged or of another version (KeyError: 'versions'",
    ),
    (["export", "mine", "-o", "a.file/below"], "The folder 'a.file/below' cannot be used"),
]


@pytest.fixture
def mine(here: Path) -> Path:
    """Leave a run, one whose summary is short of something, and files that are not what they seem.

    There is a pipe as well, at whose other end nobody is.
    """
    words = ["--rounds", "1", "--epochs", "1", "--algorithm", "fedavg", "-q"]
    for name in ("mine", "older"):
        assert main(["run", "--out", name, *words]) == 0
    summary = json.loads(Path("older/summary.json").read_text())
    del summary["versions"]
    Path("older/summary.json").write_text(json.dumps(summary))
    np.savez("new.npz", x=np.zeros((4, 1, 8, 8), np.float32), y=np.arange(4))
    Path("short.npz").write_bytes(Path("new.npz").read_bytes()[:300])
    Path("bad.toml").write_text("[data\n")
    Path("bytes.toml").write_bytes(b"\x00\xff")
    Path("long.toml").write_text("#" * 70_000)
    Path("a.file").touch()
    os.mkfifo("pipe")
    Path("link").symlink_to("a.file")
    return here / "mine"


def test_a_mistake_is_a_sentence_that_says_what_to_do(
    mine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(path.name for path in Path().iterdir())
    for words, sentence in MISTAKES:
        assert sentence in told(capsys, *words), words
    assert sorted(path.name for path in Path().iterdir()) == before
    assert Path("pipe").is_fifo()
    assert Path("link").is_symlink()


@pytest.mark.parametrize(
    "words",
    [
        "run --rounds 1",
        pytest.param("compare fedavg --seeds 1 --jobs 1 --rounds 1", marks=pytest.mark.slow),
    ],
)
def test_a_package_that_is_not_there_is_a_sentence(words: str, here: Path, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.modules['torch'] = None\n")
    paths = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-m", "flexcfl", *words.split(), "-q"],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("Error: 'torch', which flexcfl needs, cannot be imported (")
    assert done.stderr.endswith(
        "install flexcfl again, best into a new environment (python -m venv).\n"
    )
    assert done.stderr.count("\n") == 1


def test_no_name_moves_a_terminal(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hostile = "\x1b[31mred\n"
    Path(f"{hostile}.toml").write_text("[run]\nrounds = 1\n")
    short = ["--epochs", "1", "--algorithm", "fedavg", "--out", hostile]
    assert main(["run", f"{hostile}.toml", *short]) == 0
    assert main(["report", hostile, "-o", f"{hostile}.html"]) == 0
    assert main(["export", hostile]) == 0
    assert main(["run", "--device", hostile]) == 2
    captured = capsys.readouterr()
    assert ESCAPE not in captured.out + captured.err
    for what in ("file ", "folder ", "written: "):
        assert re.search(rf"^{what} *\\x1b\[31mred\\n", captured.out, re.MULTILINE), what


@pytest.mark.parametrize("wrong", [None, "0", 1.5, 7, -1, [], b"x"])
def test_a_mistake_in_python_is_a_sentence_too(mine: Path, wrong: Any) -> None:
    run = flexcfl.load(mine)
    with pytest.raises(SettingsError, match=r"There is no group .*: this run has the groups 0 to"):
        run.model(wrong)
    with pytest.raises(SettingsError, match=r"chart"):
        run.plot(wrong)
    with pytest.raises(
        SettingsError, match=r"pass its folder to flexcfl\.report\.history\.details"
    ):
        flexcfl.report.history.difference([wrong, wrong])


SHOWING = [
    ["runs", "."],
    ["show", "mine"],
    ["diff", "mine", "mine"],
    ["algorithms"],
    ["data", "list"],
    ["data", "inspect", "digits"],
    ["reproduce"],
    ["report", "mine"],
    ["export", "mine", "--force"],
    ["place", "mine", "--data", "new.npz"],
    ["run", "--rounds", "2", "--epochs", "1"],
    ["run", "--help"],
    ["show", "nowhere"],
]


def on_a_terminal(monkeypatch: pytest.MonkeyPatch, words: list[str]) -> str:
    """Return what a command writes where its output is a terminal."""
    reading, writing = pty.openpty()
    parts: list[bytes] = []

    def read() -> None:
        try:
            while part := os.read(reading, 2**16):
                parts.append(part)
        except OSError:  # how a terminal says that nobody writes any more
            pass

    reader = threading.Thread(target=read)
    reader.start()
    with os.fdopen(writing, "w", encoding="utf-8") as terminal, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", terminal)
        patch.setattr(sys, "stderr", terminal)
        main(words)
    reader.join()
    os.close(reading)
    return b"".join(parts).decode()


def test_nothing_moves_or_colours_where_that_is_not_wanted(
    mine: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    coloured = {" ".join(words): on_a_terminal(monkeypatch, words) for words in SHOWING}
    assert COLOUR.search("".join(coloured.values()))
    monkeypatch.setenv("NO_COLOR", "1")
    for words in SHOWING:
        assert not COLOUR.search(on_a_terminal(monkeypatch, words)), words
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    for words in SHOWING:
        shown = on_a_terminal(monkeypatch, words)
        assert shown, words
        assert ESCAPE not in shown, words
    for words in SHOWING:
        main(words)
        captured = capsys.readouterr()
        assert not {ESCAPE, "\r"} & {*captured.out, *captured.err}, words
