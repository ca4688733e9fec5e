"""The settings of failing clients, and what is drawn from them: who is faulty, away or late."""

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

__all__ = ["KINDS", "SOUND", "Absence", "Faults", "Roles"]

Probability = Annotated[float, Field(ge=0, le=1)]
KINDS = ("nan", "infinite", "huge", "misshapen", "stale")
"""What a client's fault makes of every update that it sends."""
SOUND = -1  # the kind of a client without a fault of its own


@settings(frozen=True, config=ConfigDict(extra="forbid"))
class Faults:
    """What goes wrong, drawn from the seed and the same for all algorithms.

    Probabilities are per round and client: with ``dropout`` it is away for the whole round, with
    ``midway`` it does its first training or pre-training of the round, and is gone before the reply
    and for the rest of the round. ``slowness`` is the spread (of the logarithm) of the time that
    training takes, half of its variance being the client's own; answers that take more than
    ``time_budget`` times the median are late and not waited for, none where it is 0. The others are
    shares of the clients, of whom every update has a number that is none (``nan``) or is
    ``infinite``, or is a million times too long (``huge``), of the wrong shape (``misshapen``), or
    that of the last time (``stale``). A share is the nearest number of clients, but at least one.
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
    """What every client is, for the whole run; no client both attacks and has a fault.

    ``hostile`` has a flag for each: whether it attacks. ``kind_of`` is the place of its fault in
    ``KINDS``, or ``SOUND``.
    """

    hostile: Flags
    kind_of: NDArray[np.int8]

    @classmethod
    def drawn(cls, faults: Faults, attack: Attack | None, clients: int, seed: int) -> "Roles":
        """Draw the roles of so many clients.

        All are put into one order, of which attackers take the first and the kinds of faults the
        next: a larger share of one of them only adds to it.
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
    """Which clients are missing in which round, drawn for all clients at once.

    Each kind has a flag for every client, or is None where it never occurs.
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
