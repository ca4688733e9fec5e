"""A folder of a run's own: claimed while it is free, given back if nothing came of the run."""

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from flexcfl.errors import SettingsError
from flexcfl.runner.experiment import Experiment
from flexcfl.runner.folder import EXPERIMENT, ROUNDS

__all__ = ["check_free", "claimed"]

ROOT = Path("runs")


def check_free(path: Path) -> None:
    """Refuse a folder that holds something already, before any work is done for it."""
    try:
        taken = path.exists() and not (path.is_dir() and not any(path.iterdir()))
    except OSError as error:
        raise SettingsError(_unusable(path, error)) from None
    if taken:
        raise SettingsError(
            f"'{path}' exists already and is not an empty folder: "
            "choose another with --out, or move it away."
        )


@contextmanager
def claimed(out: Path | None, experiment: Experiment) -> Iterator[Path]:
    """Make the folder of a run: ``out``, or by default a new one under ``runs``.

    If the block fails before a round is written down, the folder is removed again.
    """
    if out is not None:
        check_free(out)
    path = out or ROOT / _name(experiment)
    try:
        path, made = (path, _make(path, exist_ok=True)) if out else _numbered(path)
    except OSError as error:
        raise SettingsError(_unusable(path, error)) from None
    try:
        yield path
    except BaseException:
        if not (path / ROUNDS).exists():
            _remove(path, made)
        raise


def _name(experiment: Experiment) -> str:
    """Return a name for people; names of one's own may hold what file systems do not take."""
    parts = (experiment.algorithm.name, experiment.data.name, experiment.model.name)
    name = "-".join([*parts, f"seed{experiment.run.seed}"])
    return re.sub(r"[^\w.-]+", "-", name, flags=re.ASCII)[:100].strip(".-")


def _numbered(path: Path) -> tuple[Path, list[Path]]:
    # Trying, not looking, so that runs started at the same moment get folders of their own.
    number = 1
    while True:
        candidate = path.with_name(f"{path.name}-{number}")
        with suppress(FileExistsError):
            return candidate, _make(candidate, exist_ok=False)
        number += 1


def _make(path: Path, *, exist_ok: bool) -> list[Path]:
    """Make a folder and return those that had to be made for it, innermost first."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(parents=True, exist_ok=exist_ok)
    return missing


def _remove(path: Path, made: list[Path]) -> None:
    with suppress(OSError):
        (path / EXPERIMENT).unlink(missing_ok=True)
        for folder in made:
            folder.rmdir()


def _unusable(path: Path, error: OSError) -> str:
    return f"The run folder '{path}' cannot be made ({error.strerror}): choose another with --out."
