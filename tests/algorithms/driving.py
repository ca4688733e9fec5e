"""Drives an algorithm by hand: its start, and rounds with the cohorts that a test chooses."""

from typing import Any

import numpy as np

from flexcfl.protocol import Flags, Initial, drive

__all__ = ["advanced", "rng", "started"]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def started(
    method: Any,
    federation: Any,
    seed: int = 0,
    initial: Initial | None = None,
    present: Flags | None = None,
) -> Any:
    there = federation.present if present is None else present
    return drive(method.start(initial or federation.initial, there, rng(seed)), federation)


def advanced(
    method: Any,
    state: Any,
    federation: Any,
    *cohorts: Any,
    first: int = 0,
    present: Flags | None = None,
) -> Any:
    """Return the state after a round with each cohort; round n draws from seed ``first + n``."""
    there = np.ones_like(method.serving(state).model_of, np.bool_) if present is None else present
    for seed, cohort in enumerate(cohorts, first):
        ids = np.asarray(cohort, np.int64)
        state = drive(method.round(state, ids, there, rng(seed)), federation)
    return state
