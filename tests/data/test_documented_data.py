"""The page on your own data: its examples run as printed and give the printed output."""

import re
import shlex
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from flexcfl.cli import app

PAGE = Path(__file__).parents[2] / "docs" / "data.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.slow
def test_every_block_runs_in_turn_and_prints_what_stands_below_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("flwr_datasets", reason="flexcfl[datasets] is not installed.")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    blocks = BLOCK.findall(PAGE.read_text("utf-8"))
    assert {language for language, _ in blocks} == {"python", "console", "text"}
    printed = ""
    for language, content in blocks:
        if language == "text":
            assert printed == content
            continue
        printed = executed(content, names) if language == "python" else commanded(content)
    assert names["mine"].clients == 10


def executed(block: str, names: dict[str, Any]) -> str:
    with redirect_stdout(StringIO()) as printed:
        exec(block, names)
    return printed.getvalue()


def commanded(block: str) -> str:
    for line in block.splitlines():
        command, *words = shlex.split(line)
        assert command == "flexcfl"
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, result.output
    return ""
