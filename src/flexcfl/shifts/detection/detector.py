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

FORBID = ConfigDict(extra="forbid")

Fraction: TypeAlias = Annotated[float, Field(ge=0, lt=1)]
Level: TypeAlias = Annotated[float, Field(gt=0, lt=1)]
Profiles: TypeAlias = NDArray[np.float64]

NO_ROW = -1
AT_ONCE = 8192  # clients that are checked together, so that their data fit into the cache


@dataclass(frozen=True, eq=False)
class Samples:
    """The current training data of some clients, one row or position for each of them.

    ``counts`` has their label counts, of shape (clients, classes), ``first_sizes`` the number of
    training examples that each had at the start of the run. ``examples(i)`` returns the examples
    and labels ``(x, y)`` of the ``i``-th client, for detectors that use more than labels.
    """

    counts: NDArray[np.int64]
    first_sizes: Ids
    examples: Callable[[int], tuple[NDArray[np.float32], Ids]]


class Detector(Protocol):
    """A rule that compares a client's data when it was placed with its current data.

    Both are given as profiles, one row of numbers for each client, all of the same length. Each row
    is judged by itself: a client's verdict does not depend on other clients.
    """

    def profiles(self, samples: Samples) -> Profiles:
        """Return one row per client: what it keeps of its data when it is placed."""
        ...

    def drifted(self, kept: Profiles, now: Profiles) -> Flags:
        """Return for each row whether the data changed between the two profiles."""
        ...


@dataclass(frozen=True, eq=False)
class WatchMemory:
    """The state of a ``Watch``, with its fields; every profile belongs to a client."""

    kept: Profiles
    row_of: NDArray[np.int32]
    stirred: Flags
    standing: Flags


@dataclass(eq=False)
class Watch:
    """The drift detection of ``clients`` clients, all in arrays that change in place.

    ``kept`` has the profile of each client that was ever placed, from when it was last placed.
    ``row_of`` is each client's row of ``kept``, or ``NO_ROW``. ``stirred`` flags the clients whose
    data have changed since their last check, ``standing`` those that have drifted. This verdict
    stands until the client has been placed again, so it survives a lost reply.
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
        """Return a snapshot, which later changes do not affect."""
        kept, row_of = self.kept[: self._used].copy(), self.row_of.copy()
        return WatchMemory(kept, row_of, self.stirred.copy(), self.standing.copy())

    def recall(self, memory: WatchMemory) -> None:
        """Restore a snapshot."""
        self.kept, self._used = memory.kept.copy(), len(memory.kept)
        self.row_of, self.stirred = memory.row_of.copy(), memory.stirred.copy()
        self.standing = memory.standing.copy()

    def settle(self, clients: Ids, samples: Samples) -> None:
        """Make the current data of ``clients``, which have been placed, their reference."""
        if not len(clients):
            return
        profiles = self._profiles(samples)
        self._make_room(clients, profiles.shape[1])
        self.kept[self.row_of[clients]] = profiles
        self.stirred[clients] = self.standing[clients] = False

    def stir(self, clients: Ids) -> None:
        """Note that the data of ``clients`` have changed, so that the next check examines them."""
        self.stirred[clients] = True

    def check(self, clients: Ids, samples_of: Callable[[Ids], Samples]) -> Flags:
        """Return for each of ``clients`` whether it has drifted, by an old or a new verdict.

        It examines only clients that were placed before, that were stirred since the last check and
        that have no verdict yet, because the answer cannot change for others; ``samples_of``
        returns their data. A client without a reference counts as drifted: it must be placed again.
        """
        # Stirred clients first, because they are few.
        due = clients[self.stirred[clients]]
        due = due[(self.row_of[due] != NO_ROW) & ~self.standing[due]]
        for first in range(0, len(due), AT_ONCE):
            self._examine(due[first : first + AT_ONCE], samples_of)
        return np.asarray(self.standing[clients] | (self.row_of[clients] == NO_ROW))

    def _examine(self, clients: Ids, samples_of: Callable[[Ids], Samples]) -> None:
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
        if used > len(self.kept):  # doubled, so that rows are rarely copied
            room = np.zeros((min(max(used, 2 * len(self.kept)), self.clients), width))
            if self._used:
                room[: self._used] = self.kept[: self._used]
            self.kept = room
        self.row_of[new] = np.arange(self._used, used)
        self._used = used

    def _profiles(self, samples: Samples) -> Profiles:
        """Return the detector's profiles of the data, with their shape checked."""
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
