"""The settings of failing clients, and the draws of faulty, absent and late clients."""

from dataclasses import dataclass
from functools import cached_property
from math import log, sqrt
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as settings

from flexcfl import seeds
from flexcfl.errors import SettingsError
from flexcfl.protocol import Flags
from flexcfl.trust.faults.attacks import Attack, of_share

Probability = Annotated[float, Field(ge=0, le=1)]
KINDS = ("nan", "infinite", "huge", "misshapen", "stale")
"""The kinds of faults, which affect every update of a faulty client."""
SOUND = -1  # the kind of a client without a fault


@settings(frozen=True, config=ConfigDict(extra="forbid"))
class Faults:
    """Failures of clients, drawn from the seed and equal for all algorithms.

    ``dropout`` and ``midway`` are probabilities per round and client: with ``dropout`` a client is
    away for the whole round; with ``midway`` it does its first training or pre-training of the
    round, then vanishes before it replies, for the rest of the round. ``slowness`` is the standard
    deviation of the logarithm of the training time, half of whose variance is a property of the
    client; answers that take more than ``time_budget`` times the median are late and are ignored.
    With ``slowness`` 0, none is late. The others are shares of the clients: every update of such a
    client contains NaN (``nan``) or infinity (``infinite``), is a million times too long
    (``huge``), has the wrong shape (``misshapen``), or is the client's previous one (``stale``). A
    share is rounded to a number of clients, but at least one.
    """

    dropout: Probability = 0.0
    midway: Probability = 0.0
    slowness: Annotated[float, Field(ge=0, le=10)] = 0.0
    time_budget: Annotated[float, Field(gt=0, le=1e12)] = 3.0
    nan: Probability = 0.0
    infinite: Probability = 0.0
    huge: Probability = 0.0
    misshapen: Probability = 0.0
    stale: Probability = 0.0


@dataclass(frozen=True, eq=False)
class Roles:
    """The role of every client in the whole run; no client both attacks and has a fault.

    ``hostile`` flags the clients that attack. ``kind_of`` is the index of each client's fault in
    ``KINDS``, or ``SOUND``.
    """

    hostile: Flags
    kind_of: NDArray[np.int8]

    @classmethod
    def drawn(cls, faults: Faults, attack: Attack | None, clients: int, seed: int) -> "Roles":
        """Draw the roles of all clients.

        The clients are shuffled once. The first ones attack, the next ones have the kinds of faults
        in turn, so that a larger share of attackers includes those of a smaller one.
        """
        shares = [of_share(getattr(faults, kind), clients) for kind in KINDS]
        attackers = 0 if attack is None else attack.number(clients)
        _check(attackers, shares, clients)
        order = seeds.generator(seed, "roles").permutation(clients)
        hostile = np.zeros(clients, dtype=np.bool_)
        hostile[order[:attackers]] = True
        kind_of = np.full(clients, SOUND, dtype=np.int8)
        faulty = order[attackers : attackers + sum(shares)]
        kind_of[faulty] = np.repeat(np.arange(len(KINDS)), shares)
        return cls(hostile, kind_of)


def _check(attackers: int, shares: list[int], clients: int) -> None:
    if attackers > clients:
        raise SettingsError(
            f"[attack] clients is {attackers}, more than the {clients} that there are: lower it, "
            "or give a share of them."
        )
    faulty = {f"[faults] {kind}": share for kind, share in zip(KINDS, shares, strict=True)}
    parts = {"[attack]": attackers, **faulty}
    if sum(parts.values()) > clients:
        named = " and ".join(f"{name} ({number})" for name, number in parts.items() if number)
        raise SettingsError(
            f"{named} are together more than the {clients} clients that there are: lower one."
        )


@dataclass(frozen=True)
class Absence:
    """The clients that are missing in each round, drawn for all clients at once.

    Each method returns a flag for every client, or None if this kind never occurs.
    """

    faults: Faults
    clients: int
    seed: int

    def away(self, number: int) -> Flags | None:
        """Return which clients are away for the whole round."""
        return self._drawn("dropout", number, self.faults.dropout)

    def vanishing(self, number: int) -> Flags | None:
        """Return which clients vanish in the round, after their first training."""
        return self._drawn("midway", number, self.faults.midway)

    def late(self, number: int) -> Flags | None:
        """Return which clients answer too late in the round."""
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

        An answer takes :math:`\exp(\sigma (z + e) / \sqrt 2)` times the median, with :math:`z` of
        the client and :math:`e` of the round, both standard normal. So a client is late with
        probability :math:`\Phi(z - \sqrt 2 \log b / \sigma)` for the budget :math:`b`.
        """
        if self.faults.slowness == 0:
            return 0.0
        from scipy.special import ndtr  # here, because importing SciPy is slow

        own = seeds.generator(self.seed, "pace").standard_normal(self.clients)
        limit = sqrt(2) * log(self.faults.time_budget) / self.faults.slowness
        return np.asarray(ndtr(own - limit), dtype=np.float32)
