"""What the README shows works as it stands there."""

import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from flexcfl.cli import app

README = Path(__file__).parent.parent / "README.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README.read_text("utf-8"), re.DOTALL)


@pytest.mark.slow
def test_the_python_examples_run_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in blocks("python"):
        exec(block, names)
    assert names["run"].summary["dataset"] == "mine"
    assert list(tmp_path.iterdir()) == []


def test_the_commands_exist_with_the_options_that_are_shown() -> None:
    shown = "\n".join(blocks("console"))
    commands = re.findall(r"^flexcfl ((?:data )?\w+)(.*?)(?:#.*)?$", shown, re.MULTILINE)
    assert len(commands) >= 6
    for command, words in commands:
        for option in re.findall(r"--\w+", words):
            assert option in help_of(command), f"{command} {option}"


def help_of(command: str) -> str:
    result = CliRunner().invoke(app, [*command.split(), "--help"])
    assert result.exit_code == 0, command
    return result.output


def test_files_that_the_readme_links_to_are_there() -> None:
    links = re.findall(r"\]\((?!http)([^)#]+)\)", README.read_text("utf-8"))
    assert links
    for link in links:
        assert (README.parent / link).exists(), link
