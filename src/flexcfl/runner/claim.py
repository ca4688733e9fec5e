"""A folder of a run's own: claimed while it is free, given back if nothing came of the run."""

import itertools
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from flexcfl.errors import SettingsError
from flexcfl.runner.experiment import Experiment
from flexcfl.runner.folder import EXPERIMENT, ROUNDS

__all__ = ["check_free", "claimed"]

ROOT = Path("runs")


def check_free(path: Path) -> None:
    """Refuse a folder that holds something already, before any work is done for it."""
    with _told(path):
        taken = path.exists() and not (path.is_dir() and not any(path.iterdir()))
    if taken:
        raise SettingsError(_taken(path))


@contextmanager
def claimed(out: Path | None, experiment: Experiment) -> Iterator[Path]:
    """Make the folder of a run: ``out``, or by default a new one under ``runs``.

    An empty ``experiment.toml`` marks it as taken. If the block fails before a round is written
    down, what was made is removed again.
    """
    if out is not None:
        check_free(out)
    path, folders = _made(out) if out else _numbered(ROOT / _name(experiment))
    try:
        _mark(path)
    except SettingsError:
        _remove(folders)
        raise
    try:
        yield path
    except BaseException:
        if not (path / ROUNDS).exists():
            with suppress(OSError):
                (path / EXPERIMENT).unlink()
            _remove(folders)
        raise


def _name(experiment: Experiment) -> str:
    """Return a name for people; names of one's own may hold what file systems do not take."""
    parts = (experiment.algorithm.name, experiment.data.name, experiment.model.name)
    name = "-".join([*parts, f"seed{experiment.run.seed}"])
    return re.sub(r"[^\w.-]+", "-", name, flags=re.ASCII)[:100].strip(".-")


def _numbered(path: Path) -> tuple[Path, list[Path]]:
    """Make the first folder of that name that is not there yet."""
    parent, above = _made(path.parent)
    # Trying, not looking, so that runs started at the same moment get folders of their own.
    for number in itertools.count(1):
        candidate = parent / f"{path.name}-{number}"
        with _told(candidate), suppress(FileExistsError):
            candidate.mkdir()
            break
    return candidate, [candidate, *above]


def _made(path: Path) -> tuple[Path, list[Path]]:
    """Make a folder, and return it with those that had to be made for it, innermost first."""
    with _told(path):
        missing = [folder for folder in (path, *path.parents) if not folder.exists()]
        path.mkdir(parents=True, exist_ok=True)
    return path, missing


def _mark(path: Path) -> None:
    """Mark a folder as taken, which of several runs at the same moment only one can."""
    with _told(path):
        try:
            (path / EXPERIMENT).touch(exist_ok=False)
        except FileExistsError:
            raise SettingsError(_taken(path)) from None


def _remove(folders: Iterable[Path]) -> None:
    with suppress(OSError):  # not empty: others have put something into it
        for folder in folders:
            folder.rmdir()


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SettingsError(
            f"The run folder '{path}' cannot be used ({error.strerror}: '{error.filename}'): "
            "choose another with --out."
        ) from None


def _taken(path: Path) -> str:
    return (
        f"'{path}' exists already and is not an empty folder: "
        "choose another with --out, or move it away."
    )
