"""The page on taking models away: its blocks run in turn and print what stands below them."""

import re
import shlex
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from flexcfl.cli import main

PAGE = Path(__file__).parents[3] / "docs" / "models.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.slow
def test_every_block_runs_in_turn_and_prints_what_stands_below_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FLEXCFL_DATA", raising=False)
    names: dict[str, Any] = {}
    printed, compared = "", 0
    for language, content in BLOCK.findall(PAGE.read_text("utf-8")):
        if language == "text":
            assert _bare(printed) == _bare(content)
            compared += 1
            continue
        with redirect_stdout(StringIO()) as stream:
            if language == "python":
                exec(content, names)
            else:
                assert main(shlex.split(content)[1:]) == 0
        printed = stream.getvalue()
    assert compared == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "models", "newcomer.npz"]


def _bare(text: str) -> list[str]:
    """Return lines without ornaments, and without figures, which are another machine's."""
    lines = [" ".join(line.split()) for line in text.splitlines() if re.search(r"\w", line)]
    return [re.sub(r"\d+\.\d*|\d\.", "#", line) for line in lines]
