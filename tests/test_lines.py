"""Printed lines that a user may copy are not folded, on a narrow terminal or in a pipe."""

import ast
import re
import shlex
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

import flexcfl
from flexcfl.cli import main
from flexcfl.lines import Folded, show, unbroken
from tests.report.folders import construct
from tests.report.runs import broken_off, copied

# Longer than many a terminal is wide, with spaces at which a line could end.
LONG = "a folder with a name/that is much longer/than a terminal is wide"


def printed(shown: object, width: int, terminal: bool = True) -> list[str]:
    console = Console(
        file=StringIO(), width=width, force_terminal=terminal, color_system=None, _environ={}
    )
    show(shown, console)  # type: ignore[arg-type]
    text = console.file.getvalue()  # type: ignore[attr-defined]
    return str(text).split("\n")[:-1]


WORDS = st.lists(st.text("ab", min_size=1, max_size=9), min_size=1, max_size=9).map(" ".join)


@given(st.lists(st.tuples(WORDS, st.booleans()), min_size=1, max_size=5), st.integers(1, 40))
def test_lines_end_between_words_and_never_within_what_is_whole(
    parts: list[tuple[str, bool]], width: int
) -> None:
    texts = [unbroken(words) if kept else Text(words) for words, kept in parts]
    lines = printed(Folded(Text(", ").join(texts), Text("head  ")), width)
    assert [line[:6] for line in lines] == ["head  ", *["      "] * (len(lines) - 1)]
    assert " ".join(line[6:] for line in lines) == ", ".join(words for words, _ in parts)
    kept = [words for words, kept in parts if kept]
    assert all(any(words in line for line in lines) for words in kept)
    apart = {line[6:].rstrip(",") for line in lines if cell_len(line) > width}
    assert all(" " not in line or any(line in words for words in kept) for line in apart)


def test_in_a_pipe_and_in_a_picture_lines_are_as_they_are_needed_there() -> None:
    text = Folded(Text("on ") + unbroken("x " * 9_999 + "x"))
    assert printed(text, 40, terminal=False) == [f"on {'x ' * 9_999}x"]
    canvas = Console(file=StringIO(), width=20, force_terminal=True, color_system=None)
    canvas.print(Folded(unbroken("y" * 50)), overflow="fold")
    assert canvas.file.getvalue() == "\n".join(["y" * 20, "y" * 20, "y" * 10, ""])  # type: ignore[attr-defined]


@pytest.mark.parametrize("on_terminal", [True, False])
def test_every_command_prints_paths_and_commands_in_one_piece(
    on_terminal: bool,
    terminal: Callable[[int], None],
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("FLEXCFL_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    terminal(40)
    if not on_terminal:  # in a pipe lines are whole whatever COLUMNS says
        monkeypatch.delenv("TTY_COMPATIBLE")
    place = tmp_path / LONG
    data, run, other = place / "data", place / "run", place / "other"
    data.mkdir(parents=True)
    for name in ("ann", "bob"):
        np.savez(data / f"{name}.npz", x=np.ones((10, 2)), y=np.arange(10) % 2)
    construct(other)

    def lines(*words: object, code: int = 0) -> list[str]:
        assert main([str(word) for word in words]) == code
        captured = capsys.readouterr()
        return re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", captured.out + captured.err).splitlines()

    def told(what: str, *words: object, code: int = 0) -> bool:
        return any(what in line for line in lines(*words, code=code))

    held = ["--set", f"data.folder={data}"]
    assert told(f"folder={data}", "data", "inspect", "npz", *held)
    assert told("flexcfl data fetch femnist", "data", "list")
    small = ["--algorithm", "fedavg", "--rounds", "1", "--cohort", "2"]
    shown = lines("run", "--dataset", "npz", *held, *small, "--out", run)
    assert any(f" {run}" in line for line in shown)
    assert any(str(data) in line for line in shown)
    assert told(f" {run}", "show", run)
    assert told(f"flexcfl run {shlex.quote(str(run / 'experiment.toml'))}", "show", run)
    broken = copied(broken_off(tmp_path_factory, 3), place, "broken")
    assert told(f"flexcfl resume {shlex.quote(str(broken))}", "show", broken)
    assert told(str(run), "runs", place)
    found = lines("diff", run, other, "--all")
    assert {f"A  {run}", f"B  {other}"} <= set(found)
    assert any(str(data) in line for line in found)
    assert told(f"written: {run / 'export'}", "export", run)
    assert told(f"written: {place / 'page.html'}", "report", run, "-o", place / "page.html")
    assert told(f"'{place}'", "show", place, code=2)
    assert told(f"'{run}' is finished", "resume", run)
    out = ["--only", "fashion-mnist-cnn", "--out", place / "reproduction"]
    assert any("table1" in line for line in lines("reproduce"))
    assert told("fashion-mnist", "reproduce", "table3", *out, "--data", place, code=2)


def calls(path: Path) -> Iterator[ast.Call]:
    tree = ast.parse(path.read_text("utf-8"))
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def test_there_is_one_way_to_print() -> None:
    source = Path(flexcfl.__file__).parent
    found = [
        f"{path.relative_to(source)}: {ast.unparse(call)}"
        for path in sorted(source.rglob("*.py"))
        if path != source / "lines.py"
        for call in calls(path)
        if isinstance(call.func, ast.Attribute) and call.func.attr == "print" and call.args
    ]
    assert found == ["cli/data.py: canvas.print(report, overflow='fold')"], (
        "Print by flexcfl.lines, which folds nothing that may be copied."
    )
