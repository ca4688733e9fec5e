"""Experiments as TOML: read with the line of a mistake, written complete."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tomli_w

from flexcfl.errors import SettingsError
from flexcfl.runner.experiment import Experiment

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["read", "written"]


def read(path: Path) -> dict[str, Any]:
    """Return what a TOML file says."""
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise SettingsError(
            f"The experiment '{path}' cannot be read ({error.strerror}): "
            "name a TOML file, or leave it out to run the default."
        ) from None
    except UnicodeDecodeError as error:
        raise SettingsError(
            f"The experiment '{path}' is not TOML: its byte {error.start} is not UTF-8 text."
        ) from None
    except (ValueError, RecursionError) as error:  # also numbers and nesting beyond all measure
        raise SettingsError(f"The experiment '{path}' is not TOML: {error}.") from None


def written(experiment: Experiment, remarks: Sequence[str] = ()) -> str:
    """Return an experiment as TOML, below remarks as comments."""
    comments = "".join(f"# {remark}\n" for remark in remarks)
    return f"{comments}\n{tomli_w.dumps(experiment.tables())}".lstrip()
