"""Who is what: which clients attack, and which have what fault, drawn once from the seed."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flexcfl import seeds
from flexcfl.errors import SettingsError
from flexcfl.protocol import Flags
from flexcfl.trust.faults.attack import Attack, of_share
from flexcfl.trust.faults.options import KINDS, Faults

__all__ = ["SOUND", "Roles"]

SOUND = -1  # the kind of a client without a fault of its own


@dataclass(frozen=True, eq=False)
class Roles:
    """What every client is, for the whole run; nobody attacks and has a fault as well.

    ``hostile`` has a flag for each: whether it attacks. ``kind_of`` is the place of its fault in
    ``KINDS``, or ``SOUND``.
    """

    hostile: Flags
    kind_of: NDArray[np.int8]

    @classmethod
    def drawn(cls, faults: Faults, attack: Attack | None, clients: int, seed: int) -> "Roles":
        """Return who is what among so many clients.

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
        kind_of[order[attackers : attackers + sum(shares)]] = np.repeat(
            np.arange(len(KINDS)), shares
        )
        return cls(hostile, kind_of)


def _check(attackers: int, shares: list[int], clients: int) -> None:
    if attackers > clients:
        raise SettingsError(
            f"[attack] clients is {attackers}, more than the {clients} that there are: lower it, "
            "or give a share of them."
        )
    numbers = {f"[faults] {kind}": share for kind, share in zip(KINDS, shares, strict=True)}
    parts = {"[attack]": attackers, **numbers}
    if sum(parts.values()) > clients:
        named = " and ".join(f"{name} ({number})" for name, number in parts.items() if number)
        raise SettingsError(
            f"{named} are together more than the {clients} clients that there are: lower one."
        )
