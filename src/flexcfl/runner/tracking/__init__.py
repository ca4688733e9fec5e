"""Trackers, which log runs to TensorBoard or MLflow."""

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from flexcfl.errors import SettingsError, unknown
from flexcfl.runner.callbacks import Callback, Tell
from flexcfl.runner.tracking.mlflow import MLflow
from flexcfl.runner.tracking.tensorboard import TensorBoard

__all__ = ["TRACKERS", "MLflow", "TensorBoard", "Tracker", "trackers"]


class Tracker(Callback, Protocol):
    """A callback that logs runs to an experiment tracker."""

    def check(self) -> None:
        """Raise ``SettingsError`` if the tracker cannot be used, before any work is done."""


TRACKERS: Mapping[str, Callable[[], Tracker]] = {"tensorboard": TensorBoard, "mlflow": MLflow}
"""The trackers by name."""


def tracker_names(names: str | Iterable[str] | None) -> list[str]:
    """Return the names of trackers, each once; a text may hold several, separated by commas."""
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
    """Return trackers by name, after checking that they can be used.

    Args:
        names: One or several of ``TRACKERS``; a text may hold several, separated by commas.
        tell: A function that gets a sentence about each tracker that cannot be used; these are left
            out. By default they raise an error.

    Raises:
        flexcfl.errors.SettingsError: If a name is unknown, or if a tracker cannot be used.

    Example:
        >>> from flexcfl.runner.tracking import trackers
        >>> trackers("tensorboard")  # doctest: +SKIP
        [TensorBoard(logdir=None)]

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
