"""The folder of a comparison, which holds the folders of its runs."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from flexcfl import disk
from flexcfl.comparison.plan import PlannedRun
from flexcfl.comparison.spec import FILE, ComparisonSpec
from flexcfl.data import Federation
from flexcfl.errors import SettingsError
from flexcfl.experiment.experiment import Experiment
from flexcfl.record import run_folders
from flexcfl.record.folder import write
from flexcfl.record.lock import LOCK, locked
from flexcfl.record.reading import is_finished
from flexcfl.runner.stopping import StoppedError

ROOT = Path("comparisons")
# Files that may be there before the comparison is, for example if a process was killed.
REMAINS = {LOCK, f".{FILE}{disk.PART}"}


def is_comparison(path: Path) -> bool:
    """Whether a folder holds a comparison."""
    return (path / FILE).is_file()


@contextmanager
def locked_folder(out: Path | None, experiment: Experiment) -> Iterator[Path]:
    """Lock the folder ``out``, or by default a new one under ``comparisons``.

    It may hold a comparison already. New folders are removed again if the block fails before a run
    has begun, unless the comparison was stopped.
    """
    path, folders = _find_or_create(out, experiment)
    old = True  # until the lock is held
    try:
        with locked(path):
            old = is_comparison(path)
            yield path
    except StoppedError:
        raise
    except BaseException:
        if not old:
            _remove_if_unused(path, folders)
        raise


@contextmanager
def comparison_folder(
    out: Path | None,
    spec: ComparisonSpec,
    runs: Sequence[PlannedRun],
    federation: Federation | None,
) -> Iterator[Path]:
    """Lock the folder of a comparison, and write its ``comparison.toml``.

    If the folder holds a comparison already, it must be the same.
    """
    with locked_folder(out, runs[0].experiment) as path:
        if not is_comparison(path):
            _check_free(path)
            write(path, FILE, spec.to_toml())
        elif other := ComparisonSpec.read(path).difference(spec, federation):
            raise SettingsError(
                f"'{path}' holds another comparison, {other}: choose another folder with --out, "
                "or move it away."
            )
        yield path


def with_old_names(folder: Path, runs: Sequence[PlannedRun]) -> tuple[PlannedRun, ...]:
    """Return the runs with the folder names that they have in ``folder``.

    Earlier versions wrote ``package.module:entry`` into folder names.
    """
    earlier = (replace(run, label=run.algorithm) for run in runs)
    return tuple(
        old if (folder / old.folder).is_dir() else new
        for old, new in zip(earlier, runs, strict=True)
    )


def count_finished(folder: Path, runs: Sequence[PlannedRun]) -> int:
    """Return the number of complete runs."""
    return sum(is_finished(folder / run.folder) for run in runs)


def _find_or_create(out: Path | None, experiment: Experiment) -> tuple[Path, list[Path]]:
    if out is not None:
        with run_folders.as_folder_error(out):
            there, old = out.is_dir(), is_comparison(out)
        if there:
            if not old:
                _check_free(out)
            return out, []
    name = run_folders.safe_name([experiment.data.name, experiment.model.name])
    return run_folders.make_run_folder(out, ROOT / name)


def _check_free(path: Path) -> None:
    with run_folders.as_folder_error(path):
        used = {each.name for each in path.iterdir()} - REMAINS
    if used:
        raise SettingsError(run_folders.folder_taken(path))


def _remove_if_unused(path: Path, folders: list[Path]) -> None:
    with suppress(OSError):
        if {each.name for each in path.iterdir()} <= {FILE, *REMAINS}:
            disk.remove(path / FILE)
            run_folders.remove(folders)
