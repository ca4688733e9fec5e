"""Clients that appear later: ``[data] arrivals = [{round = 100, share = 0.2}]``.

A share of all clients, drawn with the run's seed, is held back until a given round. From that round
on, these clients can be chosen. This works the same for every dataset and every algorithm.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Annotated, TypeAlias

import numpy as np
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as settings

from flexcfl import seeds
from flexcfl.errors import SettingsError
from flexcfl.protocol import Ids
from flexcfl.settings import validated

SETTING = "arrivals"  # in the [data] table, next to the options of any dataset
EXAMPLE = "[{round = 100, share = 0.2}]"


@settings(frozen=True, config=ConfigDict(extra="forbid"))
class Arrival:
    """A share of all clients that appears in a round. All others are there from the start."""

    round: Annotated[int, Field(ge=2, le=10**9)]
    share: Annotated[float, Field(gt=0, lt=1)]


Arrivals: TypeAlias = tuple[Arrival, ...]


def checked(value: object) -> Arrivals:
    """Validate and return the arrivals from a file, ``--set`` or Python."""
    if not isinstance(value, list | tuple):
        raise SettingsError(f"[data] arrivals must be a list such as {EXAMPLE}, not {value!r:.60}.")
    arrivals = tuple(_arrival(item, index) for index, item in enumerate(value))
    rounds = [arrival.round for arrival in arrivals]
    if any(later <= earlier for earlier, later in pairwise(rounds)):
        raise SettingsError(
            f"[data] arrivals are in the rounds {', '.join(map(str, rounds))}: "
            "put them in order, each round once."
        )
    if _held_back(arrivals) >= 1:
        raise SettingsError(
            f"[data] arrivals hold back {_held_back(arrivals):.4g} of all clients, and somebody "
            "must be there from the start: lower the shares until their sum is below 1."
        )
    return arrivals


def _arrival(item: object, index: int) -> Arrival:
    if not isinstance(item, Mapping):
        raise SettingsError(f"[data] arrivals must be tables as in {EXAMPLE}, not {item!r:.60}.")
    return validated(Arrival, item, f"[data] arrivals[{index}]")


def _held_back(arrivals: Arrivals) -> float:
    # Rounded so that 0.1 + 0.2 + 0.7 is exactly 1 despite floating-point error.
    return round(sum(arrival.share for arrival in arrivals), 9)


def check_rounds(arrivals: Arrivals, rounds: int) -> None:
    """Refuse arrivals after the last round of the run."""
    if arrivals and arrivals[-1].round > rounds:
        raise SettingsError(
            f"[data] arrivals has clients appear in round {arrivals[-1].round}, and the run ends "
            f"after {rounds}: choose an earlier round, or more of them (--rounds)."
        )


def numbers(arrivals: Arrivals, clients: int) -> Sequence[int]:
    """Return how many clients are there from the start, and how many each arrival adds."""
    so_far = np.cumsum([arrival.share for arrival in arrivals]) * clients
    # The running totals are rounded, so that the numbers never add up to more than ``clients``.
    ends = np.floor(np.round(so_far, 6) + 0.5).astype(np.int64)
    brought = np.diff(ends, prepend=0).tolist()
    return [clients - sum(brought), *brought]


def drawn(arrivals: Arrivals, clients: int, seed: int) -> Ids:
    """Return, for every client, the first round in which it can be chosen (0 for the start)."""
    there, *brought = numbers(arrivals, clients)
    for arrival, number in zip(arrivals, brought, strict=True):
        if number == 0:
            raise SettingsError(
                f"A share of {arrival.share} of {clients} clients, to appear in round "
                f"{arrival.round}, is nobody: raise it in [data] arrivals."
            )
    rounds = np.repeat([0, *(arrival.round for arrival in arrivals)], [there, *brought])
    return np.asarray(seeds.generator(seed, "arrivals").permutation(rounds), dtype=np.int64)
