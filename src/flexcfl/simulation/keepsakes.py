"""The keepsakes of clients: the common origin and the directions of the groups.

Duan et al.: Flexible Clustered Federated Learning for Client-Level Data Distribution Shift. IEEE
TPDS 2022, Section 3.4.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from flexcfl.protocol import Flags, Ids, Vector, Vectors


@dataclass(frozen=True, eq=False)
class Keepsake:
    """The origin and directions that a client keeps to find its group again by itself."""

    origin: Vector
    directions: Vectors

    def same(self, other: "Keepsake") -> bool:
        """Whether both hold the same numbers."""
        return np.array_equal(self.origin, other.origin) and np.array_equal(
            self.directions, other.directions
        )


@dataclass(frozen=True, eq=False)
class KeepsakesMemory:
    """The state of ``Keepsakes``: ``clients[i]`` keeps ``sent[number_of[i]]``."""

    sent: tuple[Keepsake, ...]
    clients: Ids
    number_of: Ids


@dataclass(frozen=True, eq=False)
class Keepsakes:
    """All keepsakes that were sent, without repetitions, and which one each client keeps."""

    sent: list[Keepsake] = field(default_factory=list)
    kept: dict[int, int] = field(default_factory=dict)

    def memory(self) -> KeepsakesMemory:
        """Return a snapshot, which later changes do not affect."""
        size = len(self.kept)
        clients = np.fromiter(self.kept.keys(), np.int64, size)
        return KeepsakesMemory(
            tuple(self.sent), clients, np.fromiter(self.kept.values(), np.int64, size)
        )

    def recall(self, memory: KeepsakesMemory) -> None:
        """Restore a snapshot."""
        self.sent[:] = memory.sent
        self.kept.clear()
        self.kept.update(zip(memory.clients.tolist(), memory.number_of.tolist(), strict=True))

    def receive(self, clients: Ids, keepsake: Keepsake) -> None:
        """Replace the keepsake of some clients."""
        known = (number for number, each in enumerate(self.sent) if each.same(keepsake))
        number = next(known, len(self.sent))
        if number == len(self.sent):
            self.sent.append(keepsake)
        self.kept.update(dict.fromkeys(clients.tolist(), number))

    def divided(self, clients: Ids) -> Iterator[tuple[Keepsake, Flags]]:
        """Yield each keepsake with flags for the clients that have it.

        All clients share one as long as groups are founded once. Clients without one are skipped.
        """
        kept = np.array([self.kept.get(client, -1) for client in clients.tolist()], dtype=np.int64)
        for number in np.unique(kept[kept >= 0]):
            yield self.sent[number], kept == number
