"""How far runs are and how long they will take, from what they report."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from flexcfl.comparison.messages import Done, Resumed, RoundDone, Work
from flexcfl.comparison.pool import Event

__all__ = ["Advance", "clock"]

ENOUGH = 20  # rounds from which on the time that is left can be guessed


def _alike(_: Work) -> float:
    return 1.0


@dataclass
class Advance:
    """What has been heard of the runs so far; ``now`` is a clock.

    ``cost`` is about what a round of a run takes, in any unit. By the names of their folders,
    ``rounds`` are those that runs have done, and ``accuracy`` what they had last.
    """

    runs: Sequence[Work]
    cost: Callable[[Work], float] = _alike
    now: Callable[[], float] = monotonic
    done: int = 0
    rounds: dict[str, int] = field(default_factory=dict)
    accuracy: dict[str, float] = field(default_factory=dict)
    _before: dict[str, int] = field(default_factory=dict)  # rounds that had been done earlier
    _first: float | None = None  # when a round was heard of for the first time

    def __post_init__(self) -> None:
        self.start = self.now()

    def take(self, event: Event) -> None:
        """Take note of an event."""
        run, what = event
        if isinstance(what, RoundDone):
            self._first = self.now() if self._first is None else self._first
            self._reached(run, what.number, what.accuracy)
        elif isinstance(what, Resumed):
            self._before[run.folder] = what.number
            self._reached(run, what.number, what.accuracy)
        elif isinstance(what, Done):
            self.done += 1
            if what.before:
                self._before[run.folder] = len(what.accuracy)
                self._reached(run, len(what.accuracy), _last(what.accuracy))

    def _reached(self, run: Work, number: int, accuracy: float | None) -> None:
        self.rounds[run.folder] = number
        if accuracy is not None:  # otherwise the last one stays
            self.accuracy[run.folder] = accuracy

    def words(self) -> str:
        """Return how far all of it is."""
        passed = clock(self.now() - self.start)
        return f"{self.done} of {len(self.runs)} runs done after {passed}{self._left()}"

    def _left(self) -> str:
        """Return about how long it will take, once there are rounds to judge by.

        Processes take their time to start, which is not counted as work, and neither is what had
        been done earlier.
        """
        new = sum(self.rounds.values()) - sum(self._before.values())
        work = {run.folder: self.cost(run) * run.experiment.run.rounds for run in self.runs}
        due = sum(work.values()) - self._costs(self.rounds)
        if self._first is None or new < ENOUGH or due <= 0:
            return ""
        spent = (self._costs(self.rounds) - self._costs(self._before)) * (new - 1) / new
        return f", about {clock((self.now() - self._first) * due / spent)} left"

    def _costs(self, rounds: dict[str, int]) -> float:
        return sum(self.cost(run) * rounds.get(run.folder, 0) for run in self.runs)


def _last(accuracy: NDArray[np.float64]) -> float | None:
    known = accuracy[~np.isnan(accuracy)]
    return float(known[-1]) if len(known) else None


def clock(seconds: float) -> str:
    """Return a time in minutes and seconds, and hours where there are any.

    >>> clock(75.2), clock(3675)
    ('1:15', '1:01:15')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
