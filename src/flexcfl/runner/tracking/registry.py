"""The trackers by name, as the command line knows them."""

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from flexcfl.errors import SettingsError, unknown
from flexcfl.runner import Callback
from flexcfl.runner.callbacks import Tell
from flexcfl.runner.tracking.mlflow import MLflow
from flexcfl.runner.tracking.tensorboard import TensorBoard

__all__ = ["TRACKERS", "Tracker", "trackers"]


class Tracker(Callback, Protocol):
    """A callback that writes runs down for a tool."""

    def check(self) -> None:
        """Find out, before any work is done, whether what it needs is there."""


TRACKERS: Mapping[str, Callable[[], Tracker]] = {"tensorboard": TensorBoard, "mlflow": MLflow}
"""Every tracker by its name."""


def trackers(names: Iterable[str], tell: Tell | None = None) -> list[Tracker]:
    """Return trackers by their names, each once, when it is known that they can be used.

    A name may be several, with commas between them. Where all could be used before, ``tell`` is
    told of those that cannot any more, and they are left out.
    """
    said = (name.strip() for each in names for name in each.split(","))
    chosen = dict.fromkeys(filter(None, said))
    for name in chosen:
        if name not in TRACKERS:
            raise SettingsError(unknown("tracker", name, TRACKERS))
    return [each for each in (TRACKERS[name]() for name in chosen) if _usable(each, tell)]


def _usable(tracker: Tracker, tell: Tell | None) -> bool:
    try:
        tracker.check()
    except SettingsError as error:
        if tell is None:
            raise
        tell(f"A run begins without {type(tracker).__name__}: {error}")
        return False
    return True
