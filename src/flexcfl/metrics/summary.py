"""A run in a few figures: best, final and median accuracy, how soon, how steady."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TypeAlias

import numpy as np

__all__ = ["LAST", "THRESHOLDS", "Accuracy", "Curve", "Figure", "Spread", "final", "rounds_to"]

THRESHOLDS = ("0.8", "0.85", "0.9", "0.95")
LAST = 10  # "final" figures are means over so many of the last rounds

Curve: TypeAlias = Sequence[float | None]  # one value a round, None where there is none


def _known(curve: Curve) -> list[float]:
    return [value for value in curve if value is not None]


def final(curve: Curve) -> float | None:
    """Return the mean of the values that the last ten rounds have, or None if they have none."""
    values = _known(curve[-LAST:])
    return float(np.mean(values)) if values else None


@dataclass(frozen=True)
class Accuracy:
    """The best, the final (mean over the last ten rounds) and the median accuracy."""

    best: float | None
    final: float | None
    median: float | None

    @classmethod
    def of(cls, curve: Curve) -> "Accuracy":
        """Sum up a curve of accuracies, rounds without evaluation left out."""
        values = _known(curve)
        if not values:
            return cls(None, None, None)
        return cls(max(values), final(curve), float(np.median(values)))


@dataclass(frozen=True)
class Spread:
    """Mean and (population) variance over rounds."""

    mean: float | None
    variance: float | None

    @classmethod
    def of(cls, curve: Curve) -> "Spread":
        """Sum up a curve, rounds without a value left out."""
        values = _known(curve)
        return cls(float(np.mean(values)), float(np.var(values))) if values else cls(None, None)


@dataclass(frozen=True)
class Figure:
    """The mean over seeds and the standard deviation, None where there is but one seed.

    Both are None where the figure is not known for every seed.
    """

    mean: float | None
    spread: float | None

    @classmethod
    def of(cls, values: Iterable[float | None]) -> "Figure":
        """Sum up the values of all seeds."""
        values = list(values)
        known = [value for value in values if value is not None]
        if not known or len(known) < len(values):
            return cls(None, None)
        return cls(fmean(known), stdev(known) if len(known) > 1 else None)


def rounds_to(curve: Curve, thresholds: Sequence[str] = THRESHOLDS) -> Mapping[str, int | None]:
    """Return for each threshold the first round (from 1) that reached it, None for never."""
    return {threshold: _first(curve, float(threshold)) for threshold in thresholds}


def _first(curve: Curve, threshold: float) -> int | None:
    reached = (
        number
        for number, value in enumerate(curve, start=1)
        if value is not None and value >= threshold
    )
    return next(reached, None)
