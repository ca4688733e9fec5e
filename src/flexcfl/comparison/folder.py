"""The folder that a comparison leaves: those of its runs, and what they show together."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flexcfl.runner import places
from flexcfl.runner.experiment import Experiment

__all__ = ["claimed", "finished"]

ROOT = Path("comparisons")


@contextmanager
def claimed(out: Path | None, experiment: Experiment) -> Iterator[Path]:
    """Make the folder: ``out``, or by default a new one under ``comparisons``.

    What was made is removed again if the block fails and nothing is in it.
    """
    name = places.named([experiment.data.name, experiment.model.name])
    path, folders = places.made(out, ROOT / name)
    try:
        yield path
    except BaseException:
        places.remove(folders)
        raise


def finished(folder: Path) -> int:
    """Return how many runs are complete."""
    return len(list(folder.glob("*/summary.json")))
