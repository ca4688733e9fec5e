"""Which node hosts which clients, and since when each of them is there."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from flexcfl.protocol import Flags, Ids
from flexcfl.protocol.cohorts import NEVER, Cohorts, Policy

__all__ = ["Roster"]

NOWHERE = -1


@dataclass(eq=False)
class Roster:
    """All clients that there is room for; nodes come, and those of theirs that are new arrive.

    ``planned`` is for every client the round before which it is not to take part, though a node has
    it. A client that was there once stays, for it may only be silent. Of two nodes that say that
    they host a client, the later one does: it is the earlier one, restarted.
    """

    seed: int
    planned: Ids
    cohort: int
    policy: Policy = "uniform"
    arrival: Ids = field(init=False)
    _hosted: dict[int, Ids] = field(init=False, default_factory=dict)
    _cohorts: Cohorts | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.arrival = np.full(len(self.planned), NEVER, dtype=np.int64)

    @property
    def nodes(self) -> list[int]:
        """The nodes that something is expected of, the latest last."""
        return list(self._hosted)

    def join(self, node: int, clients: Ids, number: int) -> None:
        """Let a node host clients from round ``number`` on."""
        self.leave(node)
        self._hosted[node] = clients
        self._arrive(clients, number)

    def leave(self, node: int) -> None:
        """Expect nothing more of a node."""
        self._hosted.pop(node, None)

    def recall(self, arrival: Ids, number: int) -> None:
        """Know since when clients are there after round ``number``, wherever they are now."""
        self.arrival = arrival.copy()
        for clients in self._hosted.values():
            self._arrive(clients, number + 1)

    def _arrive(self, clients: Ids, number: int) -> None:
        new = clients[self.arrival[clients] == NEVER]
        self.arrival[new] = np.maximum(self.planned[new], number)
        self._cohorts = None

    def divided(self, clients: Ids) -> Iterator[tuple[int, Flags]]:
        """Yield each node that hosts some of ``clients``, with flags for those."""
        place_of = np.full(len(self.planned), NOWHERE, dtype=np.int64)
        for place, hosted in enumerate(self._hosted.values()):
            place_of[hosted] = place
        places = place_of[clients]
        for place, node in enumerate(self.nodes):
            mine = np.asarray(places == place)
            if mine.any():
                yield node, mine

    def present(self, number: int) -> Flags:
        """Return for every client whether it has arrived."""
        return self._now.present(number)

    def choose(self, number: int) -> Ids:
        """Return the cohort of a round, of those who have arrived."""
        return self._now.choose(number)

    def toured(self, number: int) -> bool:
        """Whether everybody there has been chosen at least once."""
        return self._now.toured(number)

    @property
    def _now(self) -> Cohorts:
        if self._cohorts is None:
            self._cohorts = Cohorts(self.seed, self.arrival, self.cohort, self.policy)
        return self._cohorts
