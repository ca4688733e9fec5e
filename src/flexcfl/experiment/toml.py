"""Experiments as TOML: read with the line of a mistake, written complete."""

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tomli_w

from flexcfl.algorithms import legacy_options
from flexcfl.errors import SettingsError, reason
from flexcfl.experiment.experiment import Experiment
from flexcfl.settings import excess

# Thirty times the size of what a run writes. With both limits, parsing the worst file takes a
# second; a key with very many parts on one line would take hours.
MOST_BYTES = 2**16
MOST_DOTS = 200
CORRECT = "correct it there, or name another file"


def read(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file."""
    return parsed(_content(path), str(path))


def parsed(content: bytes, name: str) -> dict[str, Any]:
    """Parse TOML of this or an earlier version; error messages call it ``name``."""
    if len(content) > MOST_BYTES:
        raise SettingsError(
            f"The experiment '{name}' is longer than {MOST_BYTES} bytes: name the right file."
        )
    said = _parsed(name, content)
    beyond = excess(said)
    if beyond:
        raise SettingsError(f"The experiment '{name}' holds {beyond}: {CORRECT}.")
    return _with_legacy_options(said)


def _with_legacy_options(said: dict[str, Any]) -> dict[str, Any]:
    """Add the options that an algorithm got after the file was written."""
    table = said.get("algorithm")
    if not isinstance(table, dict):
        return said
    return {**said, "algorithm": {**legacy_options(table.get("name")), **table}}


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:  # a name that no file can have is a ValueError
        raise SettingsError(
            f"The experiment '{path}' cannot be read ({getattr(error, 'strerror', error)}): "
            "name a TOML file, or leave it out to run the default."
        ) from None


def _parsed(path: str, content: bytes) -> dict[str, Any]:
    for number, line in enumerate(content.split(b"\n"), start=1):
        if line.count(b".") > MOST_DOTS:
            raise SettingsError(
                f"Line {number} of the experiment '{path}' has more than {MOST_DOTS} dots: "
                "name the right file."
            )
    try:
        return tomllib.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise SettingsError(
            f"The experiment '{path}' is not TOML, because its byte {error.start} is not UTF-8 "
            f"text: {CORRECT}."
        ) from None
    except (ValueError, RecursionError) as error:  # also numbers and nesting beyond all measure
        raise SettingsError(
            f"The experiment '{path}' is not TOML ({reason(error)}): {CORRECT}."
        ) from None


def written(experiment: Experiment, remarks: Sequence[str] = ()) -> str:
    """Return an experiment as TOML, below remarks as comments."""
    comments = "".join(f"# {remark}\n" for remark in remarks)
    return f"{comments}\n{tomli_w.dumps(experiment.tables())}".lstrip()
