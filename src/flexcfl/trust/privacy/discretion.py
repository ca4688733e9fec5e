"""How updates leave clients that want privacy, and how often they did."""

from dataclasses import dataclass, field

import numpy as np

from flexcfl import seeds
from flexcfl.protocol import Flags, Ids, Purpose, Vectors
from flexcfl.trust.privacy.accounting import epsilon, most_releases
from flexcfl.trust.privacy.mechanism import clipped, noised
from flexcfl.trust.privacy.options import Privacy

__all__ = ["Discretion"]


@dataclass(eq=False)
class Discretion:
    """Counts what each of so many ``clients`` releases and, at their own level, hides it in noise.

    What a client draws depends on the seed, what the update is for, the round, and how many updates
    it released before, whoever else was asked with it. So no two of its updates share their noise,
    not even those of one round, whose difference would otherwise lie open.
    """

    settings: Privacy
    clients: int
    seed: int
    _released: Ids = field(init=False)
    _allowed: int | None = field(init=False)

    def __post_init__(self) -> None:
        settings, delta = self.settings, self.settings.delta_for(self.clients)
        self._released = np.zeros(self.clients, dtype=np.int64)
        epsilon(settings.noise, 1, delta)  # that it cannot be counted is to be known at once
        budget = settings.epsilon
        self._allowed = None if budget is None else most_releases(settings.noise, budget, delta)

    def protected(self, updates: Vectors, clients: Ids, purpose: Purpose, number: int) -> Vectors:
        """Return the updates of different clients as they may leave them in round ``number``."""
        if self.settings.level == "client":
            updates = self._hidden(updates, clients, purpose, number)
        self._released[clients] += 1
        return updates

    def _hidden(self, updates: Vectors, clients: Ids, purpose: Purpose, number: int) -> Vectors:
        hidden = clipped(updates, self.settings.clip)
        deviation = self.settings.noise * self.settings.clip
        for row, client in enumerate(clients.tolist()):
            before = int(self._released[client])
            rng = seeds.generator(self.seed, f"privacy {purpose}", number, client, before)
            hidden[row] = noised(hidden[row], deviation, rng)
        return hidden

    def spent(self, clients: Ids) -> Flags:
        """Return who would exceed the budget with one more release."""
        if self._allowed is None:
            return np.zeros(len(clients), dtype=np.bool_)
        return np.asarray(self._released[clients] >= self._allowed)

    @property
    def most(self) -> int:
        """How many updates the client released that released most."""
        return int(self._released.max(initial=0))

    def memory(self) -> Ids:
        """Return how many updates each client released, which does not change later."""
        return self._released.copy()

    def recall(self, released: Ids) -> None:
        """Be as when this was remembered."""
        self._released = released.copy()
