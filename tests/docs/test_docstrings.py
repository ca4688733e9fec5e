"""Every session in a docstring gives what stands there."""

import doctest
import importlib
import re
from pathlib import Path

import pytest

import flexcfl
from tests.docs.conftest import ROOT

SOURCE = Path(flexcfl.__file__).parent.parent
SESSION = re.compile(r"^\s*>>> ", re.MULTILINE)
TRAINING = re.compile(r">>> .*flexcfl\.(run|compare)\(")  # which takes seconds


def modules() -> list[object]:
    """Return the modules with sessions, those that train marked as slow."""
    folders = {SOURCE: SOURCE / "flexcfl", ROOT: ROOT / "tools"}
    files = {file: root for root, folder in folders.items() for file in folder.rglob("*.py")}
    return [
        pytest.param(
            ".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__"),
            marks=[pytest.mark.slow] if TRAINING.search(file.read_text("utf-8")) else [],
        )
        for file, root in sorted(files.items())
        if SESSION.search(file.read_text("utf-8"))
    ]


@pytest.mark.parametrize("name", modules())
def test_the_sessions_of_a_module_give_what_stands_there(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    failed, tried = doctest.testmod(importlib.import_module(name))
    assert (failed, tried > 0) == (0, True)
    assert list(tmp_path.iterdir()) == []
