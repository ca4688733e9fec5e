"""Every code block of every page works as it stands there."""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.comparison.here import all_done_here
from tests.docs.blocks import (
    INSTEAD,
    NOT_RUN,
    PAGES,
    ROOT,
    SHOWN,
    Block,
    Reader,
    blocks,
    commands,
    every_command,
    needs_data,
    reason_not_to_run,
    shortened,
)

REAL = Path(os.environ.get("FLEXCFL_DATA") or ROOT.parent / "shared" / "data")
RUN = ("python", "pycon", "console", "sh", "toml")
PROCESSES = "docs/extend.md"  # compares a custom algorithm, which a process has to find


def pages() -> list[object]:
    """Return the pages with anything to run; those that hold federations are run first."""
    return [
        pytest.param(page, marks=[pytest.mark.slow, *_processes(page)], id=_name(page))
        for page in PAGES
        if any(block.language in RUN for block in blocks(page))
    ]


def _processes(page: Path) -> list[pytest.MarkDecorator]:
    return [pytest.mark.processes] if "\nflexcfl federate" in page.read_text("utf-8") else []


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reader]:
    """Put a reader into an empty folder, whose modules no one else finds."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    if REAL.is_dir():
        monkeypatch.setenv("FLEXCFL_DATA", str(REAL))
    yield Reader(folder)
    for name, module in list(sys.modules.items()):
        if (getattr(module, "__file__", None) or "").startswith(str(folder)):
            del sys.modules[name]


@pytest.mark.parametrize("page", pages())
def test_a_page_does_what_it_says(
    page: Path, reader: Reader, request: pytest.FixtureRequest
) -> None:
    text = page.read_text("utf-8")
    if "mlflow" in text:
        request.getfixturevalue("store")
    there = [block for block in blocks(page) if block.language in RUN]
    left = [block for block in there if needs_data(block) and not REAL.is_dir()]
    with nullcontext() if _name(page) == PROCESSES else all_done_here():
        for block in there:
            if block not in left:
                reader.do(block)
    if left:
        lines = ", ".join(str(block.line) for block in left)
        pytest.skip(f"The real files are not in {REAL}; not run: the blocks in lines {lines}.")


def test_every_block_says_what_it_is() -> None:
    kinds = {(block.language, block.page) for page in PAGES for block in blocks(page)}
    assert {language for language, _ in kinds} <= {*RUN, *SHOWN}, kinds


def test_fences_are_all_found() -> None:
    for page in PAGES:
        fences = re.findall(r"^ *```", page.read_text("utf-8"), re.MULTILINE)
        assert len(fences) == 2 * len(blocks(page)), page


@pytest.mark.parametrize(("pages", "pattern", "reason"), NOT_RUN)
def test_what_is_not_run_is_still_there(pages: str, pattern: str, reason: str) -> None:
    found = [page for page, said in every_command() if reason_not_to_run(page, said) == reason]
    assert found
    assert any(
        re.fullmatch(pages, page) and re.fullmatch(pattern, said) for page, said in every_command()
    )


def test_what_is_run_as_something_else_is_still_there() -> None:
    assert INSTEAD.keys() <= set(every_command())


def block(text: str, language: str = "console", page: str = "docs/x.md") -> Block:
    return Block(page, 1, language, None, text)


def test_commands_are_distinguished_from_remarks_and_output() -> None:
    said = commands(block("flexcfl run   # a remark\n\n# another\nflexcfl run \\\n  --seed 1\n"))
    assert said == ["flexcfl run", "flexcfl run    --seed 1"]
    assert commands(block("$ flexcfl algorithms\nfedavg\n")) == ["flexcfl algorithms"]
    assert commands(block("flexcfl run --set 'a=[{b=\"#\"}]'")) == [
        "flexcfl run --set 'a=[{b=\"#\"}]'"
    ]


@pytest.mark.parametrize(
    ("said", "run"),
    [
        ("run --rounds 300", "run --rounds 2"),
        (
            "run --set data.arrivals=[{round=50}]",
            "run --set data.arrivals=[{round=50}] --rounds 50",
        ),
        ("compare a b", "compare a b --rounds 2 --seeds 1 --jobs 1"),
        ("run --rounds 12", "run --rounds 12"),
        ("run --rounds 13", "run --rounds 2"),
        ("federate --nodes 4 --rounds 3", "federate --nodes 2 --rounds 1"),
        ("federate few.toml", "federate few.toml"),
        ("federate few.toml --rounds 50", "federate few.toml --rounds 2"),
        ("reproduce", "reproduce"),
        ("reproduce table1", "reproduce table1 --rounds 2 --seeds 1 --jobs 1"),
        ("data list", "data list"),
    ],
)
def test_commands_are_shortened_in_nothing_but_their_length(
    said: str, run: str, tmp_path: Path
) -> None:
    (tmp_path / "few.toml").write_text("[run]\nrounds = 3\n")
    assert shortened(said.split(), tmp_path) == run.split()


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("flexcfl run --no-such-option", "console"),
        ("flexcfl show-me-nothing", "console"),
        ("false", "console"),
        ("1 / 0", "python"),
        (">>> 1 + 1\n3\n", "python"),
        ("[local]\nspeed = 1\n", "toml"),
        ("exit 3", "sh"),
    ],
)
def test_what_does_not_work_is_noticed(reader: Reader, text: str, language: str) -> None:
    with pytest.raises(BaseException, match=r"docs/x\.md, line 1: "):
        reader.do(block(text, language))


def test_pages_about_real_data_are_known() -> None:
    assert needs_data(block("flexcfl run --dataset mnist"))
    assert needs_data(block("flexcfl resume runs/flexcfl-femnist-mclr-seed0-1"))
    assert not needs_data(block("flexcfl run --dataset digits"))
    assert not needs_data(block("pip install mnist"))
