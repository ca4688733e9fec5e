"""The life of a run folder: claimed, locked, finished, and cleaned up."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, TypeAlias

from flexcfl import disk
from flexcfl.errors import FlexcflError, SettingsError
from flexcfl.experiment.experiment import Experiment
from flexcfl.record import run_folders
from flexcfl.record.checkpoints import Store
from flexcfl.record.folder import EXPERIMENT, LABELS, SUMMARY, RunFolder, as_disk_error
from flexcfl.record.lock import LOCK, locked
from flexcfl.record.run_folders import CHECKPOINTS
from flexcfl.record.tables import ROUNDS

ROOT = Path("runs")
State: TypeAlias = Literal["finished", "running", "interrupted"]


@contextmanager
def claim_folder(
    out: Path | None, experiment: Experiment, but: Collection[str] = ()
) -> Iterator[Path]:
    """Make the folder of a run, ``out`` or by default a new one under ``runs``, and lock it.

    It must be empty, except for folders named in ``but``. An empty ``experiment.toml`` marks it as
    taken. If the block fails before the first round is written, everything new is removed again.
    """
    path, folders = run_folders.make_run_folder(out, ROOT / run_name(experiment), but)
    try:
        _mark(path)
    except SettingsError:
        run_folders.remove(folders)
        raise
    try:
        with locked(path):
            yield path
    except BaseException:
        if not (path / ROUNDS).exists():
            with suppress(OSError):
                Store(path / CHECKPOINTS).clear()
                disk.remove(path / LABELS)
                (path / EXPERIMENT).unlink()
            run_folders.remove(folders)
        raise


def run_name(experiment: Experiment) -> str:
    """Return the name of a run's folder without its number."""
    parts = (experiment.algorithm.name, experiment.data.name, experiment.model.name)
    return run_folders.safe_name([*parts, f"seed{experiment.run.seed}"])


def _mark(path: Path) -> None:
    """Mark a folder as taken; of several runs at the same moment, only one succeeds."""
    with run_folders.as_folder_error(path):
        try:
            (path / EXPERIMENT).touch(exist_ok=False)
        except FileExistsError:
            raise SettingsError(run_folders.folder_taken(path)) from None


def is_finished(path: Path) -> bool:
    """Whether the run in a folder is finished: its summary is written last."""
    return (path / SUMMARY).is_file()


def check_run(path: Path) -> None:
    """Raise ``SettingsError`` if a folder is not the folder of a run."""
    file = path / EXPERIMENT
    if file.is_file() and not file.stat().st_size:  # an empty file claims a folder
        raise SettingsError(
            f"The run in '{path}' never began: remove the folder, and run it again."
        )
    if not file.is_file():
        raise SettingsError(
            f"'{path}' is not the folder of a run, because it has no {EXPERIMENT}: "
            "name the folder that 'flexcfl run' or 'flexcfl compare' printed."
        )


def state_of(finished: bool, held: bool) -> State:
    """Return the state of a run: whether it is finished, and whether a process holds its folder."""
    if finished:
        return "finished"
    return "running" if held else "interrupted"


def remove_checkpoints(folder: RunFolder) -> None:
    """Remove the checkpoints of a finished run."""
    with as_disk_error(folder.path / CHECKPOINTS) as path:
        Store(path).clear()


def tidy(path: Path) -> None:
    """Remove what a finished run left behind if it was killed at that moment."""
    if any((path / name).exists() for name in (CHECKPOINTS, LOCK)):
        # A process that still holds the folder does this itself, and nothing depends on it.
        with suppress(FlexcflError), locked(path):
            remove_checkpoints(RunFolder(path))
