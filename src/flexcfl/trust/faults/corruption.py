"""What faults make of the updates that clients send."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexcfl import seeds
from flexcfl.protocol import Trained, TrainingOrder, Vector
from flexcfl.trust.faults.options import KINDS

__all__ = ["HUGE", "corrupted"]

HUGE = np.float32(1e6)

Corruption: TypeAlias = Callable[[Vector, np.random.Generator], Vector]


def corrupted(
    order: TrainingOrder[Any], reply: Trained, kind_of: NDArray[np.int8], number: int, seed: int
) -> Trained:
    """Return a reply in which client ``i`` has the fault ``KINDS[kind_of[i]]``, or none.

    Where an update is of another shape than it should be, ``updates`` is a list.
    """
    spoilt: dict[int, Vector] = {}
    rows = np.flatnonzero(np.isin(kind_of, CORRUPTING))
    for row, own in zip(rows.tolist(), order.draws(reply.clients[rows]), strict=True):
        kind = KINDS[kind_of[row]]
        rng = seeds.generator(seed, f"{kind} {order.purpose}", number, *own)
        spoilt[row] = CORRUPTIONS[kind](reply.updates[row], rng)
    if not spoilt:
        return reply
    if all(each.shape == reply.updates.shape[1:] for each in spoilt.values()):
        updates = reply.updates.copy()
        updates[list(spoilt)] = list(spoilt.values())
        return replace(reply, updates=updates)
    loose: Any = [spoilt.get(row, update) for row, update in enumerate(reply.updates)]
    return replace(reply, updates=loose)


def _nan(update: Vector, rng: np.random.Generator) -> Vector:
    # One number in an honest update is the hardest to see.
    return _with(update, rng.integers(len(update)), np.nan)


def _infinite(update: Vector, rng: np.random.Generator) -> Vector:
    return _with(update, rng.integers(len(update)), rng.choice([-np.inf, np.inf]).item())


def _huge(update: Vector, rng: np.random.Generator) -> Vector:
    with np.errstate(over="ignore"):  # what is beyond float32 is sent as infinity
        return np.asarray(update * HUGE)


def _misshapen(update: Vector, rng: np.random.Generator) -> Vector:
    cut = rng.integers(len(update))
    wrong = (update[:cut], np.append(update, np.float32(0)), update[np.newaxis])
    return wrong[rng.integers(len(wrong))]


def _with(update: Vector, place: np.int64, value: float) -> Vector:
    changed = update.copy()
    changed[place] = value
    return changed


CORRUPTIONS: Mapping[str, Corruption] = MappingProxyType(
    {"nan": _nan, "infinite": _infinite, "huge": _huge, "misshapen": _misshapen}
)
CORRUPTING = [KINDS.index(kind) for kind in CORRUPTIONS]
