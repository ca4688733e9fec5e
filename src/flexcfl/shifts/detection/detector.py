"""How clients notice that their own data have changed: a detector, and what they remember for it.

Only a verdict leaves a client.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field

from flexcfl.errors import SettingsError
from flexcfl.protocol import Flags, Ids

__all__ = [
    *("FORBID", "Detector", "Fraction", "Level", "Profiles"),
    *("WatchMemory", "Samples", "Watch"),
]

FORBID = ConfigDict(extra="forbid")

Fraction: TypeAlias = Annotated[float, Field(ge=0, lt=1)]
Level: TypeAlias = Annotated[float, Field(gt=0, lt=1)]
Profiles: TypeAlias = NDArray[np.float64]

NO_ROW = -1
AT_ONCE = 8192  # clients that are looked at together, for memory that is small and stays in cache


@dataclass(frozen=True, eq=False)
class Samples:
    """The training data that the clients asked have now, one row or position for each of them.

    ``counts`` has their label counts, of shape (clients asked, classes), ``first_sizes`` how many
    training examples each had at the start of the run, and ``examples(i)`` gives the examples and
    labels ``(x, y)`` of the ``i``-th, for detectors that look at more than labels.
    """

    counts: NDArray[np.int64]
    first_sizes: Ids
    examples: Callable[[int], tuple[NDArray[np.float32], Ids]]


class Detector(Protocol):
    """A rule that compares what a client kept when it was placed with what it has now.

    Both sides are profiles, one row of numbers for each client, as many for one as for another.
    Rows are judged each on its own: what one client holds has no say in another's verdict.
    """

    def profiles(self, samples: Samples) -> Profiles:
        """Return one row per client: all that it keeps of its data when it is placed."""
        ...

    def drifted(self, kept: Profiles, now: Profiles) -> Flags:
        """Return for each row whether the data changed between the two profiles."""
        ...


@dataclass(frozen=True, eq=False)
class WatchMemory:
    """All that a watch knows at some moment, as in ``Watch``; every profile belongs to a client."""

    kept: Profiles
    row_of: NDArray[np.int32]
    stirred: Flags
    standing: Flags


@dataclass(eq=False)
class Watch:
    """The memory of ``clients`` clients under one detector, all in arrays that change in place.

    ``kept`` has a profile of each client that was ever placed, as it was when the client was last
    placed. ``row_of`` says which row of ``kept`` is a client's, or ``NO_ROW``. ``stirred`` flags
    the clients whose data changed and have not been looked at since, ``standing`` those with a
    verdict. A verdict stands until the client has been placed again, so that a lost reply forgets
    nothing.
    """

    detector: Detector
    clients: int
    kept: Profiles = field(init=False)
    row_of: NDArray[np.int32] = field(init=False)
    stirred: Flags = field(init=False)
    standing: Flags = field(init=False)
    _used: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.kept = np.zeros((0, 0))
        self.row_of = np.full(self.clients, NO_ROW, dtype=np.int32)
        self.stirred, self.standing = np.zeros((2, self.clients), dtype=np.bool_)

    def memory(self) -> WatchMemory:
        """Return all that is known now, which does not change with the watch."""
        kept, row_of = self.kept[: self._used].copy(), self.row_of.copy()
        return WatchMemory(kept, row_of, self.stirred.copy(), self.standing.copy())

    def recall(self, memory: WatchMemory) -> None:
        """Know what was known at some moment, and nothing else."""
        self.kept, self._used = memory.kept.copy(), len(memory.kept)
        self.row_of, self.stirred = memory.row_of.copy(), memory.stirred.copy()
        self.standing = memory.standing.copy()

    def settle(self, clients: Ids, samples: Samples) -> None:
        """Take the data that ``clients`` have now, as they are placed, for their reference."""
        if not len(clients):
            return
        profiles = self._profiles(samples)
        self._make_room(clients, profiles.shape[1])
        self.kept[self.row_of[clients]] = profiles
        self.stirred[clients] = self.standing[clients] = False

    def stir(self, clients: Ids) -> None:
        """Note that the data of ``clients`` have changed: the next check looks at them."""
        self.stirred[clients] = True

    def check(self, clients: Ids, samples_of: Callable[[Ids], Samples]) -> Flags:
        """Return for each of ``clients`` whether it has a verdict, old or new.

        It looks only at clients that were placed once, were stirred since the last look and have no
        verdict yet, for data that did not change give no other answer; ``samples_of`` is asked for
        those. A client that lost its reference has a verdict: it is to be placed again.
        """
        # The stirred ones first: of very many clients they are few.
        due = clients[self.stirred[clients]]
        due = due[(self.row_of[due] != NO_ROW) & ~self.standing[due]]
        for first in range(0, len(due), AT_ONCE):
            self._look(due[first : first + AT_ONCE], samples_of)
        return np.asarray(self.standing[clients] | (self.row_of[clients] == NO_ROW))

    def _look(self, clients: Ids, samples_of: Callable[[Ids], Samples]) -> None:
        now = self._profiles(samples_of(clients))
        verdicts = np.asarray(self.detector.drifted(self.kept[self.row_of[clients]], now))
        if verdicts.shape != (len(clients),) or verdicts.dtype != np.bool_:
            raise SettingsError(
                f"The detector {_name(self.detector)} gives verdicts of type {verdicts.dtype} and "
                f"shape {verdicts.shape} for {len(clients)} clients: let drifted return one "
                "boolean for each."
            )
        self.standing[clients] = verdicts
        self.stirred[clients] = False

    def _make_room(self, clients: Ids, width: int) -> None:
        """Give a row to each of ``clients`` that has none."""
        new = np.unique(clients[self.row_of[clients] == NO_ROW])
        used = self._used + len(new)
        if used > len(self.kept):  # twice as many, so that rows are seldom copied
            room = np.zeros((min(max(used, 2 * len(self.kept)), self.clients), width))
            if self._used:
                room[: self._used] = self.kept[: self._used]
            self.kept = room
        self.row_of[new] = np.arange(self._used, used)
        self._used = used

    def _profiles(self, samples: Samples) -> Profiles:
        """Return what the detector makes of the data, in the shape that it must have."""
        rows, clients = np.asarray(self.detector.profiles(samples)), len(samples.counts)
        known = self.kept.shape[1] if len(self.kept) else None
        if rows.ndim != 2 or len(rows) != clients or known not in (None, rows.shape[1]):
            raise SettingsError(
                f"The detector {_name(self.detector)} makes profiles of shape {rows.shape} for "
                f"{clients} clients: let profiles return one row for each, always of the same "
                "length."
            )
        return rows


def _name(detector: Detector) -> str:
    return type(detector).__name__
