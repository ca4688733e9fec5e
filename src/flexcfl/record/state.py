"""How far the run in a folder is: begun, running, interrupted or finished."""

from contextlib import suppress
from pathlib import Path
from typing import Literal, TypeAlias

from flexcfl.errors import FlexcflError, SettingsError
from flexcfl.record.checkpoints import Store
from flexcfl.record.folder import EXPERIMENT, SUMMARY, RunFolder, told
from flexcfl.record.lock import LOCK, locked
from flexcfl.record.places import CHECKPOINTS

__all__ = ["State", "check_run", "done_with", "is_finished", "state_of", "tidy"]

State: TypeAlias = Literal["finished", "running", "interrupted"]


def is_finished(path: Path) -> bool:
    """Whether the run in a folder is done: its summary comes last."""
    return (path / SUMMARY).is_file()


def check_run(path: Path) -> None:
    """Refuse a folder that is none of a run."""
    file = path / EXPERIMENT
    if file.is_file() and not file.stat().st_size:  # which is how a folder is claimed
        raise SettingsError(f"The run in '{path}' never began: remove the folder, and run it anew.")
    if not file.is_file():
        raise SettingsError(
            f"'{path}' is not the folder of a run, which has an {EXPERIMENT} in it: "
            "name the folder that 'flexcfl run' or 'flexcfl compare' printed."
        )


def state_of(finished: bool, held: bool) -> State:
    """Return how far a run is, by whether it has a summary and whether somebody is at it."""
    if finished:
        return "finished"
    return "running" if held else "interrupted"


def done_with(folder: RunFolder) -> None:
    """Remove the checkpoints of a run that is finished."""
    with told(folder.path / CHECKPOINTS) as path:
        Store(path).clear()


def tidy(path: Path) -> None:
    """Remove what a finished run could not remove any more, if it was killed in that moment."""
    if any((path / name).exists() for name in (CHECKPOINTS, LOCK)):
        # Where another process is at work it does so itself, and nobody depends on it.
        with suppress(FlexcflError), locked(path):
            done_with(RunFolder(path))
