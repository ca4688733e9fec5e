"""How lists and differences look: at any width, in a pipe, without colours, with hostile names."""

from collections.abc import Sequence
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from flexcfl.report.history import RunRow, details, difference, runs
from flexcfl.report.history.diff import DiffView
from flexcfl.report.history.list_view import COLUMNS, ListView, cell_text
from tests.report.folders import construct
from tests.report.history.rows import ROWS

HOSTILE = "\x1b[2J[red]\x07"


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("some")
    construct(path / "one")
    construct(path / "two", method="fedavg", seed=7)
    construct(path / HOSTILE, method=HOSTILE, dataset=HOSTILE, model=f"own:{HOSTILE}")
    return path


def drawn(shown: object, width: int = 10_000, terminal: bool = True) -> list[str]:
    """Return the lines that are printed."""
    file = StringIO()
    console = Console(file=file, width=width, force_terminal=terminal, no_color=True, _environ={})
    console.print(shown, crop=False)
    text = file.getvalue().replace("\x1b[1m", "").replace("\x1b[2m", "").replace("\x1b[0m", "")
    return [line.rstrip() for line in text.splitlines()]


def fits(line: str, width: int, rows: Sequence[RunRow]) -> bool:
    """Whether a line fits, or holds nothing but one piece that may be copied."""
    pieces = {cell_text(row, name) for row in rows for name in [*COLUMNS, "loss", "mine.option"]}
    alone = line.strip().removesuffix(",")
    return cell_len(line) <= width or alone in {piece.strip().removesuffix(",") for piece in pieces}


@pytest.mark.parametrize("width", [20, 40, 80, 120, 200])
def test_every_run_is_whole_at_any_width(width: int, folder: Path) -> None:
    rows = runs(folder)
    lines = drawn(ListView(rows), width)
    assert all(fits(line, width, rows) for line in lines)
    assert all(line.isprintable() for line in lines)
    joined = "".join(lines).replace(" ", "")
    for row in rows:
        assert repr(str(row.folder))[1:-1].replace(" ", "") in joined
        assert f"{100 * (row.figures['final'] or 0):.1f}" in joined or row.figures["final"] is None


@settings(max_examples=50)
@given(st.lists(ROWS, min_size=1, max_size=5), st.integers(20, 200))
def test_no_line_is_wider_than_the_terminal_and_none_moves_it(
    rows: list[RunRow], width: int
) -> None:
    lines = drawn(ListView(rows, ["loss", "mine.option"]), width)
    assert all(fits(line, width, rows) for line in lines)
    assert all(line.isprintable() for line in lines)


def test_in_a_pipe_a_run_is_one_line_with_all_columns(folder: Path) -> None:
    rows = runs(folder)
    head, *lines = drawn(ListView(rows, ["loss"]), terminal=False)
    assert head.split() == [*COLUMNS, "loss"]
    assert len(lines) == len(rows)
    assert [len(line.split()) for line in lines] == [len(COLUMNS) + 1] * len(rows)
    assert not set("".join(lines)) & set("│─┃━")


def test_what_is_the_same_for_all_is_said_once(folder: Path) -> None:
    rows = [row for row in runs(folder) if row.folder.name in ("one", "two")]
    lines = drawn(ListView(rows), 200)
    assert "algorithm" in lines[0]
    assert "dataset" not in lines[0]
    assert "the same for all 2: dataset digits, model mclr, shift swap-all" in "\n".join(lines)
    assert "dataset" in drawn(ListView(rows[:1]), 200)[0]


def test_what_there_is_no_room_for_is_said_and_what_was_asked_for_is_there(folder: Path) -> None:
    rows = runs(folder)
    width = max(cell_len(line) for line in drawn(ListView(rows), 400)) - 1
    lines = drawn(ListView(rows, ["migrations"]), width)
    assert "migrations" in lines[0]
    assert "no room for: " in "\n".join(lines)


@pytest.mark.parametrize("width", [20, 40, 80, 200])
@pytest.mark.parametrize("names", [["one", "two"], ["one", HOSTILE, "two"]])
def test_a_difference_fits_and_moves_no_terminal(
    width: int, names: Sequence[str], folder: Path
) -> None:
    found = difference([details(folder / name) for name in names])
    for everything in (False, True):
        lines = drawn(DiffView(found, everything), width)
        pieces = [line[3:] if line.startswith(("A  ", "B  ", "C  ")) else line for line in lines]
        wide = [line for line in pieces if cell_len(line) > width]
        assert all(len(line.split()) == 1 for line in wide)  # only what may be copied
        assert all(line.isprintable() for line in lines)
        text = " ".join(" ".join(lines).split())
        assert "run.seed" in text
        assert ("local.batch" in text) == everything


def test_a_difference_says_what_differs(folder: Path) -> None:
    found = difference([details(folder / name) for name in ("one", "two")])
    lines = [line.split() for line in drawn(DiffView(found), 200)]
    assert ["run.seed", "0", "7"] in lines
    assert ["algorithm.name", "flexcfl", "fedavg"] in lines
    assert ["best", "85.71%", "85.71%", "+0.00", "points"] in lines
    same = "the same to the last digit in all 6 rounds that both have finished"
    assert lines[-1] == f"accuracy, B and A: {same}".split()
