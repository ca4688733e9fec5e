"""How far a comparison is: rounds, accuracies and times by algorithm, from what its runs report."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from time import monotonic

from flexcfl.comparison.advance import Advance
from flexcfl.comparison.messages import Done
from flexcfl.comparison.plan import Planned
from flexcfl.comparison.pool import Event, Started

__all__ = ["Standing"]


@dataclass
class Standing:
    """What has been heard of the runs so far; ``now`` is a clock."""

    runs: Sequence[Planned]
    now: Callable[[], float] = monotonic
    _began: dict[str, float] = field(default_factory=dict)
    _ended: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.advance = Advance(self.runs, now=self.now)
        self._algorithm = {run.folder: run.algorithm for run in self.runs}

    def take(self, event: Event) -> None:
        """Take note of an event."""
        run, what = event
        self.advance.take(event)
        if isinstance(what, Started):
            self._began.setdefault(self._algorithm[run.folder], self.now())
        elif isinstance(what, Done):
            self._ended[self._algorithm[run.folder]] = self.now()

    def algorithms(self) -> list[str]:
        """Return the algorithms, in the order asked for."""
        return list(dict.fromkeys(run.algorithm for run in self.runs))

    def rounds(self, algorithm: str) -> tuple[int, int]:
        """Return how many rounds of an algorithm are done and how many there are."""
        runs = [run for run in self.runs if run.algorithm == algorithm]
        done = sum(self.advance.rounds.get(run.folder, 0) for run in runs)
        return done, sum(run.experiment.run.rounds for run in runs)

    def accuracy(self, algorithm: str) -> float | None:
        """Return the accuracy now, the mean over the seeds that have one."""
        found, folders = self.advance.accuracy, self._algorithm.items()
        known = [found[name] for name, own in folders if own == algorithm and name in found]
        return fmean(known) if known else None

    def seconds(self, algorithm: str) -> float | None:
        """Return the time from when its first run began until its last one ended, or until now."""
        if algorithm not in self._began:
            return None
        done, rounds = self.rounds(algorithm)
        until = self._ended.get(algorithm, self.now()) if done == rounds else self.now()
        return until - self._began[algorithm]
