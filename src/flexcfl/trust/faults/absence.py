"""Who does not answer: clients that are away, that vanish midway, and that are too late."""

from dataclasses import dataclass
from functools import cached_property
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

from flexcfl import seeds
from flexcfl.protocol import Flags
from flexcfl.trust.faults.options import Faults

__all__ = ["Absence"]


@dataclass(frozen=True)
class Absence:
    """Who is missing in which round, drawn for all clients at once, whoever is asked.

    Each kind has a flag for every client, or is None where it never occurs.
    """

    faults: Faults
    clients: int
    seed: int

    def away(self, number: int) -> Flags | None:
        """Return who is away for the whole round."""
        return self._drawn("dropout", number, self.faults.dropout)

    def vanishing(self, number: int) -> Flags | None:
        """Return who vanishes in the round, when it has trained for the first time."""
        return self._drawn("midway", number, self.faults.midway)

    def late(self, number: int) -> Flags | None:
        """Return whose answers in the round take too long."""
        return self._drawn("lateness", number, self._lateness)

    def _drawn(
        self, kind: str, number: int, probability: float | NDArray[np.float32]
    ) -> Flags | None:
        if isinstance(probability, float) and probability == 0:
            return None
        rng = seeds.generator(self.seed, kind, number)
        # In float32, because there may be a million clients and a round takes milliseconds.
        return np.asarray(rng.random(self.clients, dtype=np.float32) < probability)

    @cached_property
    def _lateness(self) -> float | NDArray[np.float32]:
        r"""The probability with which each client is late in a round.

        An answer takes :math:`\exp(\sigma (z + e) / \sqrt 2)` times the median, :math:`z` being the
        client's own and :math:`e` the round's, both standard normal. So a client is late with
        probability :math:`\Phi(z - \sqrt 2 \log b / \sigma)` for the budget :math:`b`.
        """
        if self.faults.slowness == 0:
            return 0.0
        from scipy.special import ndtr  # here, because that takes a while

        own = seeds.generator(self.seed, "pace").standard_normal(self.clients)
        limit = sqrt(2) * log(self.faults.time_budget) / self.faults.slowness
        return np.asarray(ndtr(own - limit), dtype=np.float32)
