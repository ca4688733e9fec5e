"""What clients remember between rounds: their reference, whether data stirred, and verdicts."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from flexcfl.drift.detector import Detector, Profiles, Samples
from flexcfl.protocol import Flags, Ids

__all__ = ["Watch"]

AT_ONCE = 8192  # clients that are looked at together, for memory that is small and stays in cache


@dataclass(eq=False)
class Watch:
    """The memory of ``clients`` clients under one detector, all in arrays that change in place.

    ``kept`` has the profile of each client when it was last placed, ``settled`` who was ever
    placed, ``stirred`` whose data changed and have not been looked at since, ``standing`` who has a
    verdict. A verdict stands until the client has been placed again, so that a lost reply forgets
    nothing.
    """

    detector: Detector
    clients: int
    kept: Profiles = field(init=False)
    settled: Flags = field(init=False)
    stirred: Flags = field(init=False)
    standing: Flags = field(init=False)

    def __post_init__(self) -> None:
        self.kept = np.zeros((self.clients, 0))
        self.settled, self.stirred, self.standing = np.zeros((3, self.clients), dtype=np.bool_)

    def settle(self, clients: Ids, samples: Samples) -> None:
        """Take the data that ``clients`` have now, as they are placed, for their reference."""
        if not len(clients):
            return
        profiles = self.detector.profiles(samples)
        if not self.settled.any():  # only now is it known how long a profile is
            self.kept = np.zeros((self.clients, profiles.shape[1]))
        self.kept[clients] = profiles
        self.settled[clients] = True
        self.stirred[clients] = self.standing[clients] = False

    def stir(self, clients: Ids) -> None:
        """Note that the data of ``clients`` have changed: the next check looks at them."""
        self.stirred[clients] = True

    def check(self, clients: Ids, samples_of: Callable[[Ids], Samples]) -> Flags:
        """Return for each of ``clients`` whether it has a verdict, old or new.

        Only who was placed once, was stirred since the last look and has no verdict yet is looked
        at, for data that did not change give no other answer; ``samples_of`` is asked for those.
        """
        due = clients[(self.settled & self.stirred & ~self.standing)[clients]]
        for first in range(0, len(due), AT_ONCE):
            self._look(due[first : first + AT_ONCE], samples_of)
        return np.asarray(self.standing[clients])

    def _look(self, clients: Ids, samples_of: Callable[[Ids], Samples]) -> None:
        now = self.detector.profiles(samples_of(clients))
        self.standing[clients] = self.detector.drifted(self.kept[clients], now)
        self.stirred[clients] = False
