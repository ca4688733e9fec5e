"""Virtual environments from PyPI, one for each contestant, kept until what they hold changes."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from contestants.errors import ContestantError

__all__ = ["clean", "ready"]

_RECORD = "installed.json"
_LONGEST = 3600.0  # seconds for one installation


def ready(folder: Path, installs: Sequence[Sequence[str]]) -> Path:
    """Return the Python of an environment in which so much is installed; make it if need be."""
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    wanted = json.dumps({"python": sys.version.split()[0], "installs": installs}, indent=1)
    record = folder / _RECORD
    if not (record.is_file() and record.read_text(encoding="utf-8") == wanted):
        _run([sys.executable, "-m", "venv", "--clear", str(folder)])
        for arguments in installs:
            _run([str(python), "-m", "pip", "install", "--no-input", *arguments])
        record.write_text(wanted, encoding="utf-8")  # last, so that half of one is made anew
    return python


def clean(environments: Path) -> list[str]:
    """Remove all environments under a folder, whole or half, and return their names."""
    folders = [config.parent for config in sorted(environments.glob("*/pyvenv.cfg"))]
    for folder in folders:
        shutil.rmtree(folder)
    return [folder.name for folder in folders]


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            timeout=_LONGEST,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ContestantError(f"cannot be installed: {error}") from None
    if done.returncode:
        raise ContestantError(f"cannot be installed: {_reason(done.stdout)}")


def _reason(output: str) -> str:
    """Return what pip calls the error, or its last line."""
    errors = re.findall(r"^\s*error: *(.+)$", output, re.IGNORECASE | re.MULTILINE)
    lines = errors or output.strip().splitlines() or ["no reason given"]
    return str(lines[-1])
