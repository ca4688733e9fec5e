"""How far runs are and how long they will take, computed from their messages."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from time import monotonic

import numpy as np

from flexcfl.comparison.worker_messages import Done, Event, Resumed, RoundDone, RunSpec, Started

ENOUGH = 20  # rounds needed to estimate the time that is left


def _alike(_: RunSpec) -> float:
    return 1.0


@dataclass
class Progress:
    """The progress that the runs have reported so far; ``now`` is a clock.

    ``cost`` is the approximate cost of a round of a run, in any unit. By folder name, ``rounds``
    has the number of rounds that each run has done, and ``accuracy`` its last accuracy.
    """

    runs: Sequence[RunSpec]
    cost: Callable[[RunSpec], float] = _alike
    now: Callable[[], float] = monotonic
    done: int = 0
    rounds: dict[str, int] = field(default_factory=dict)
    accuracy: dict[str, float] = field(default_factory=dict)
    _before: dict[str, int] = field(default_factory=dict)  # rounds of an earlier call
    _first: float | None = None  # when the first round was reported

    def __post_init__(self) -> None:
        self.start = self.now()

    def take(self, event: Event) -> None:
        """Record an event."""
        run, message = event
        if isinstance(message, RoundDone):
            self._first = self.now() if self._first is None else self._first
            self._reach(run, message.number, message.accuracy)
        elif isinstance(message, Resumed):
            self._before[run.folder] = message.number
            self._reach(run, message.number, message.accuracy)
        elif isinstance(message, Done):
            self.done += 1
            if message.before:
                rounds, known = len(message.accuracy), message.accuracy[~np.isnan(message.accuracy)]
                self._before[run.folder] = rounds
                self._reach(run, rounds, float(known[-1]) if len(known) else None)

    def _reach(self, run: RunSpec, number: int, accuracy: float | None) -> None:
        self.rounds[run.folder] = number
        if accuracy is not None:  # otherwise keep the last one
            self.accuracy[run.folder] = accuracy

    def text(self) -> str:
        """Return the number of runs done, the time so far, and an estimate of the time left."""
        passed = clock(self.now() - self.start)
        return f"{self.done} of {len(self.runs)} runs done after {passed}{self._left()}"

    def _left(self) -> str:
        """Return an estimate of the time left, once there are enough rounds for one.

        It leaves out the start of processes and the rounds of an earlier call.
        """
        new = sum(self.rounds.values()) - sum(self._before.values())
        total = sum(self.cost(run) * run.experiment.run.rounds for run in self.runs)
        due = total - self._costs(self.rounds)
        if self._first is None or new < ENOUGH or due <= 0:
            return ""
        spent = (self._costs(self.rounds) - self._costs(self._before)) * (new - 1) / new
        return f", about {clock((self.now() - self._first) * due / spent)} left"

    def _costs(self, rounds: dict[str, int]) -> float:
        return sum(self.cost(run) * rounds.get(run.folder, 0) for run in self.runs)


@dataclass
class ComparisonProgress(Progress):
    """The progress of a comparison by algorithm."""

    _began: dict[str, float] = field(default_factory=dict)
    _ended: dict[str, float] = field(default_factory=dict)

    def take(self, event: Event) -> None:
        """Record an event."""
        super().take(event)
        run, message = event
        if isinstance(message, Started):
            self._began.setdefault(_algorithm(run), self.now())
        elif isinstance(message, Done):
            self._ended[_algorithm(run)] = self.now()

    @property
    def algorithms(self) -> list[str]:
        """The algorithms in the order of the runs."""
        return list(dict.fromkeys(map(_algorithm, self.runs)))

    def rounds_of(self, algorithm: str) -> tuple[int, int]:
        """Return the number of rounds done and the number of all rounds of an algorithm."""
        runs = self._runs_of(algorithm)
        done = sum(self.rounds.get(run.folder, 0) for run in runs)
        return done, sum(run.experiment.run.rounds for run in runs)

    def accuracy_of(self, algorithm: str) -> float | None:
        """Return the current accuracy: the mean over the seeds that have one."""
        runs = self._runs_of(algorithm)
        known = [self.accuracy[run.folder] for run in runs if run.folder in self.accuracy]
        return fmean(known) if known else None

    def seconds_of(self, algorithm: str) -> float | None:
        """Return the time from the start of its first run to the end of its last, or to now."""
        if algorithm not in self._began:
            return None
        done, rounds = self.rounds_of(algorithm)
        until = self._ended.get(algorithm, self.now()) if done == rounds else self.now()
        return until - self._began[algorithm]

    def _runs_of(self, algorithm: str) -> list[RunSpec]:
        return [run for run in self.runs if _algorithm(run) == algorithm]


def _algorithm(run: RunSpec) -> str:
    return run.experiment.algorithm.name


def clock(seconds: float) -> str:
    """Return a time in minutes and seconds, with hours if there are any.

    >>> clock(75.2), clock(3675)
    ('1:15', '1:01:15')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
