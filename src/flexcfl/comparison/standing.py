"""How far a comparison is: rounds, accuracies and times by algorithm, from what its runs report."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from flexcfl.comparison.messages import Done, Resumed, RoundDone, Work
from flexcfl.comparison.plan import Planned
from flexcfl.comparison.pool import Event, Started

__all__ = ["Standing", "clock"]

ENOUGH = 20  # rounds from which on the time that is left can be guessed


@dataclass
class Standing:
    """What has been heard of the runs so far; ``now`` is a clock."""

    runs: Sequence[Planned]
    now: Callable[[], float] = monotonic
    done: int = 0
    _rounds: dict[str, int] = field(default_factory=dict)
    _before: dict[str, int] = field(default_factory=dict)  # rounds that had been done earlier
    _accuracy: dict[str, float] = field(default_factory=dict)
    _began: dict[str, float] = field(default_factory=dict)
    _ended: dict[str, float] = field(default_factory=dict)
    _first: float | None = None  # when a round was heard of for the first time

    def __post_init__(self) -> None:
        self.start = self.now()
        self._algorithm = {run.folder: run.algorithm for run in self.runs}

    def take(self, event: Event) -> None:
        """Take note of an event."""
        run, what = event
        algorithm = self._algorithm[run.folder]
        if isinstance(what, Started):
            self._began.setdefault(algorithm, self.now())
        elif isinstance(what, RoundDone):
            self._first = self.now() if self._first is None else self._first
            self._reached(run, what.number, what.accuracy)
        elif isinstance(what, Resumed):
            self._before[run.folder] = what.number
            self._reached(run, what.number, what.accuracy)
        elif isinstance(what, Done):
            self.done += 1
            self._ended[algorithm] = self.now()
            if what.before:
                self._before[run.folder] = len(what.accuracy)
                self._reached(run, len(what.accuracy), _last(what.accuracy))

    def _reached(self, run: Work, number: int, accuracy: float | None) -> None:
        self._rounds[run.folder] = number
        if accuracy is not None:  # otherwise the last one stays
            self._accuracy[run.folder] = accuracy

    def algorithms(self) -> list[str]:
        """Return the algorithms, in the order asked for."""
        return list(dict.fromkeys(run.algorithm for run in self.runs))

    def rounds(self, algorithm: str | None = None) -> tuple[int, int]:
        """Return how many rounds are done and how many there are, of one algorithm or of all."""
        runs = [run for run in self.runs if algorithm in (None, run.algorithm)]
        done = sum(self._rounds.get(run.folder, 0) for run in runs)
        return done, sum(run.experiment.run.rounds for run in runs)

    def accuracy(self, algorithm: str) -> float | None:
        """Return the accuracy now, the mean over the seeds that have one."""
        folders = [run.folder for run in self.runs if run.algorithm == algorithm]
        known = [self._accuracy[folder] for folder in folders if folder in self._accuracy]
        return fmean(known) if known else None

    def seconds(self, algorithm: str) -> float | None:
        """Return the time from when its first run began until its last one ended, or until now."""
        if algorithm not in self._began:
            return None
        done, rounds = self.rounds(algorithm)
        until = self._ended.get(algorithm, self.now()) if done == rounds else self.now()
        return until - self._began[algorithm]

    def words(self) -> str:
        """Return how far all of it is."""
        passed = clock(self.now() - self.start)
        return f"{self.done} of {len(self.runs)} runs done after {passed}{self._left()}"

    def _left(self) -> str:
        """Return about how long it will take, once there are rounds to judge by.

        Processes take their time to start, which is not counted as work, and neither is what had
        been done earlier.
        """
        done, rounds = self.rounds()
        new = done - sum(self._before.values())
        if self._first is None or new < ENOUGH or done >= rounds:
            return ""
        return f", about {clock((self.now() - self._first) * (rounds - done) / (new - 1))} left"


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
