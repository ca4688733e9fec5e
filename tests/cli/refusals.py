"""What a command that must fail says: one sentence."""

import pytest

from flexcfl.cli import main


def told(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Return the one sentence on stderr of a command that must fail."""
    assert main(list(words)) == 2
    error = capsys.readouterr().err
    assert error.startswith("Error: ")
    assert error.endswith("\n")
    assert error.count("\n") == 1, error
    assert "Traceback" not in error
    return error.removeprefix("Error: ").rstrip("\n")
