"""Summaries over rounds and seeds: best, final and median accuracy, mean and variance."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

THRESHOLDS = ("0.8", "0.85", "0.9", "0.95")
LAST = 10  # "final" figures are means over this many of the last rounds

# One value per round; None or NaN if a round has none.
Curve: TypeAlias = Sequence[float | None] | NDArray[np.float64]


def _known(curve: Curve) -> list[float]:
    return [float(value) for value in curve if value is not None and not np.isnan(value)]


def measured_by_all(curves: Iterable[Curve]) -> NDArray[np.bool_]:
    """Return for each round whether all curves have a value; runs are compared over these rounds.

    A curve without any value is left out. A round counts only if all other curves have it.

    >>> measured_by_all([[0.5, 0.6, 0.7], [None, 0.4, 0.5], [None, None, None]]).tolist()
    [False, True, True]
    """
    known = [~np.isnan(np.array(curve, dtype=np.float64)) for curve in curves]
    some = [each for each in known if each.any()]
    shared = np.ones(min(map(len, some), default=0), dtype=np.bool_)
    for each in some:
        shared &= each[: len(shared)]
    return shared


def rounds_text(rounds: NDArray[np.bool_], methods: int) -> str:
    """Return in words over which rounds this many methods are compared.

    >>> print(rounds_text(measured_by_all([[0.5, 0.6, 0.7], [None, 0.4, 0.5]]), methods=2))
    over the rounds 2 to 3, in which every method is measured
    """
    numbers = np.flatnonzero(rounds) + 1
    measured = "every method is measured" if methods > 1 else "it is measured"
    if not len(numbers):
        return f"over no round, because there is none in which {measured}"
    first, last = numbers[0], numbers[-1]
    if first == last:
        return f"over round {first}, the only one in which {measured}"
    several = "the rounds" if last - first + 1 == len(numbers) else f"{len(numbers)} of the rounds"
    return f"over {several} {first} to {last}, in which {measured}"


def final(curve: Curve) -> float | None:
    """Return the mean over the last ten rounds, or None if none of them has a value."""
    values = _known(curve[-LAST:])
    return float(np.mean(values)) if values else None


@dataclass(frozen=True)
class Accuracy:
    """Best, final (mean over the last ten rounds) and median accuracy, None if not measured.

    ``first_round`` is the first round (from 1) that was measured.
    """

    best: float | None
    final: float | None
    median: float | None
    first_round: int | None = None

    @classmethod
    def of(cls, curve: Curve, rounds: NDArray[np.bool_] | None = None) -> "Accuracy":
        """Summarize a curve of accuracies; rounds without evaluation are left out.

        With ``rounds``, such as those of ``measured_by_all``, only these rounds count, and the last
        ten rounds end with the last of them.
        """
        values = np.array(curve, dtype=np.float64)  # None becomes NaN
        if rounds is not None:
            values = values[: len(rounds)]  # a measured run has all of them
            values = np.where(rounds[: len(values)], values, np.nan)[: _end(rounds)]
        measured = np.flatnonzero(~np.isnan(values))
        if not len(measured):
            return cls(None, None, None)
        known = values[measured]
        return cls(float(known.max()), final(values), float(np.median(known)), int(measured[0]) + 1)


def _end(rounds: NDArray[np.bool_]) -> int:
    """Return the number of rounds up to the last one that counts."""
    return int(rounds.nonzero()[0].max(initial=-1)) + 1


@dataclass(frozen=True)
class MeanVariance:
    """Mean and (population) variance over rounds, None without any value."""

    mean: float | None
    variance: float | None

    @classmethod
    def of(cls, curve: Curve) -> "MeanVariance":
        """Summarize a curve; rounds without a value are left out."""
        values = _known(curve)
        return cls(float(np.mean(values)), float(np.var(values))) if values else cls(None, None)


@dataclass(frozen=True)
class MeanDeviation:
    """Mean and standard deviation (``spread``) over seeds; one seed has no deviation.

    Both are None if the figure is not known for every seed.
    """

    mean: float | None
    spread: float | None

    @property
    def rank(self) -> tuple[bool, float]:
        """The sort key of figures: the highest comes first, unknown ones last."""
        return self.mean is None, -(self.mean or 0.0)

    @classmethod
    def of(cls, values: Iterable[float | None]) -> "MeanDeviation":
        """Summarize the values of all seeds."""
        values = list(values)
        known = [value for value in values if value is not None]
        if not known or len(known) < len(values):
            return cls(None, None)
        return cls(fmean(known), stdev(known) if len(known) > 1 else None)


def rounds_to(curve: Curve, thresholds: Sequence[str] = THRESHOLDS) -> Mapping[str, int | None]:
    """Return for each threshold the first round (from 1) that reached it, None if none did."""
    return {threshold: _first(curve, float(threshold)) for threshold in thresholds}


def _first(curve: Curve, threshold: float) -> int | None:
    reached = (
        number
        for number, value in enumerate(curve, start=1)
        if value is not None and value >= threshold  # NaN never is
    )
    return next(reached, None)
