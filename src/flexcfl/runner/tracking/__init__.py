"""Runs in the tools that people follow experiments with: TensorBoard and MLflow, by name."""

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from flexcfl.errors import SettingsError, unknown
from flexcfl.runner.callbacks import Callback, Tell
from flexcfl.runner.tracking.mlflow import MLflow
from flexcfl.runner.tracking.tensorboard import TensorBoard

__all__ = ["TRACKERS", "MLflow", "TensorBoard", "Tracker", "trackers"]


class Tracker(Callback, Protocol):
    """A callback that writes runs down for a tool."""

    def check(self) -> None:
        """Find out, before any work is done, whether what it needs is there."""


TRACKERS: Mapping[str, Callable[[], Tracker]] = {"tensorboard": TensorBoard, "mlflow": MLflow}
"""Every tracker by its name."""


def tracker_names(names: str | Iterable[str] | None) -> list[str]:
    """Return the names of trackers, each once; a text may be several, with commas between them."""
    listed = [names] if isinstance(names, str) else names or ()
    if not isinstance(listed, Iterable) or not all(isinstance(each, str) for each in listed):
        raise SettingsError(
            f"track must be a name such as 'mlflow' or a list of names, not {names!r:.60}."
        )
    several = (name.strip() for each in listed for name in each.split(","))
    chosen = list(dict.fromkeys(filter(None, several)))
    for name in chosen:
        if name not in TRACKERS:
            raise SettingsError(unknown("tracker", name, TRACKERS))
    return chosen


def trackers(names: str | Iterable[str] | None, tell: Tell | None = None) -> list[Tracker]:
    """Return trackers by their names, when it is known that they can be used.

    Where all could be used before, ``tell`` is told of those that cannot any more, and they are
    left out.
    """
    made = (TRACKERS[name]() for name in tracker_names(names))
    return [each for each in made if _usable(each, tell)]


def _usable(tracker: Tracker, tell: Tell | None) -> bool:
    try:
        tracker.check()
    except SettingsError as error:
        if tell is None:
            raise
        tell(f"A run begins without {type(tracker).__name__}: {error}")
        return False
    return True
