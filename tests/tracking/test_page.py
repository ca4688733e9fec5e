"""What docs/tracking.md shows works as it stands there."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.test_readme import help_of

PAGE = Path(__file__).parents[2] / "docs" / "tracking.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)


def test_the_python_examples_run_one_after_the_other(
    store: Callable[[], Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("tensorboard", reason="needs flexcfl[tensorboard]")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in blocks("python"):
        exec(block, names)
    assert re.match(r"\d+ migrations, \d+\.\d%\n", capsys.readouterr().out)
    assert store().get_experiment_by_name("digits") is not None
    for folder in ("logs/first", "runs/mine/tensorboard"):
        assert len(list((tmp_path / folder).iterdir())) == 1


def test_the_commands_have_the_option() -> None:
    shown = "\n".join(blocks("console"))
    commands = set(re.findall(r"^flexcfl (\w+) .*--track", shown, re.MULTILINE))
    assert commands == {"run", "compare", "federate", "resume"}
    assert all("--track" in help_of(command) for command in commands)
