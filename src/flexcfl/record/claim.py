"""The folder of a run: claimed while it is free, given back if nothing came of the run."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from flexcfl import disk
from flexcfl.errors import SettingsError
from flexcfl.experiment.experiment import Experiment
from flexcfl.record import places
from flexcfl.record.checkpoints import Store
from flexcfl.record.folder import EXPERIMENT, LABELS
from flexcfl.record.lock import locked
from flexcfl.record.places import CHECKPOINTS
from flexcfl.record.tables import ROUNDS

__all__ = ["ROOT", "claimed", "name"]

ROOT = Path("runs")


@contextmanager
def claimed(out: Path | None, experiment: Experiment, but: Collection[str] = ()) -> Iterator[Path]:
    """Make the folder of a run, ``out`` or by default a new one under ``runs``, and hold it.

    It is empty ``but`` for folders of these names. An empty ``experiment.toml`` marks it as taken.
    If the block fails before a round is written down, what was made is removed again.
    """
    path, folders = places.made(out, ROOT / name(experiment), but)
    try:
        _mark(path)
    except SettingsError:
        places.remove(folders)
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
            places.remove(folders)
        raise


def name(experiment: Experiment) -> str:
    """Return what the folder of a run is called, but for its number."""
    parts = (experiment.algorithm.name, experiment.data.name, experiment.model.name)
    return places.named([*parts, f"seed{experiment.run.seed}"])


def _mark(path: Path) -> None:
    """Mark a folder as taken, which of several runs at the same moment only one can."""
    with places.told(path):
        try:
            (path / EXPERIMENT).touch(exist_ok=False)
        except FileExistsError:
            raise SettingsError(places.taken(path)) from None
