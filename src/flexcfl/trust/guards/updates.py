"""Which updates are in proportion to those that came with them, and which founders are admitted."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexcfl.aggregation import geometric_weights, norms
from flexcfl.aggregation.means import weighted_mean
from flexcfl.clustering import cosines, gram
from flexcfl.clustering.measures import Matrix
from flexcfl.protocol import Flags, Vectors

__all__ = ["Centre", "copies", "judge_founders", "length_bound", "shortened"]

Centre: TypeAlias = NDArray[np.float64]

REST = 0.01  # of the length of a model: shorter updates are at rest
FEWEST = 3  # two have no middle that says which of them is strange
NOWHERE = 1e-6  # a centre of unit vectors that is shorter than this points nowhere


def length_bound(lengths: NDArray[np.float64], models: Vectors, factor: float | None) -> float:
    """Return the bound on lengths: ``factor`` times their median, which no minority can move far.

    Of an even number it is the lower of the middle two. Of one or two it says nothing, and the
    longest of the ``models`` that were trained is the measure. A hundredth of that always is:
    where most clients have come to rest, one that has drifted moves many times as far as they do.
    There is no bound if all lengths are zero, or there are none.

    >>> longest(np.array([1.0, 2.0, 1e6]), np.ones((1, 9), np.float32), 10.0)
    20.0
    >>> longest(np.array([1e6]), np.ones((1, 9), np.float32), 10.0)
    30.0
    """
    if factor is None or not len(lengths):
        return np.inf
    middle, model = (len(lengths) - 1) // 2, norms(models).max()
    median = np.partition(lengths, middle)[middle] if len(lengths) >= FEWEST else model
    measure = float(max(median, REST * model))
    return factor * measure if measure > 0 else np.inf


def shortened(updates: Vectors, lengths: NDArray[np.float64], bound: float) -> Vectors:
    """Return a copy in which updates longer than the bound have been scaled down to it."""
    short = updates.copy()
    for row in np.flatnonzero(lengths > bound):
        factor = bound / lengths[row]
        np.multiply(updates[row], factor, out=short[row], dtype=np.float64, casting="same_kind")
    return short


def copies(updates: Vectors) -> Flags:
    """Return which updates are those of an earlier row, number by number.

    No two clients learn the same; those that send the same have agreed on it, to weigh more.
    """
    lengths, found = norms(updates), np.zeros(len(updates), dtype=np.bool_)
    same_length: dict[float, list[int]] = {}  # the different updates of each length so far
    for row in np.flatnonzero(lengths).tolist():
        others = same_length.setdefault(float(lengths[row]), [])
        found[row] = any(np.array_equal(updates[other], updates[row]) for other in others)
        if not found[row]:
            others.append(row)
    return found


def judge_founders(
    updates: Vectors, least: float, centre: Centre | None = None
) -> tuple[Flags, Centre | None]:
    """Return which updates have at least this cosine to the centre of the others, and the centre.

    It is the geometric median of all directions, in which none gains from being long. No update
    counts in its own centre: noise would otherwise point with the centre by its own share of it.
    Later founders are judged by the ``centre`` of those before. If fewer than three updates have a
    direction, or these cancel out, all are admitted. A zero update has no direction and cosine 0.
    """
    lengths = norms(updates)
    moved, cosine = np.flatnonzero(lengths), np.zeros(len(updates))
    if centre is not None:
        along = np.einsum("ij,j->i", updates, centre, dtype=np.float64)
        cosine[moved] = along[moved] / lengths[moved]
        return np.asarray(cosine >= least), centre
    similarity = cosines(gram(updates[moved]))
    weights = geometric_weights(similarity) if len(moved) >= FEWEST else np.zeros(len(moved))
    if (weights * (similarity * weights).sum(axis=1)).sum() < NOWHERE**2:
        return np.ones(len(updates), dtype=np.bool_), None
    cosine[moved] = _to_others(similarity, weights)
    found = weighted_mean(updates, moved, weights / lengths[moved])
    return np.asarray(cosine >= least), found / np.sqrt(np.square(found).sum())


def _to_others(similarity: Matrix, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the cosine of each direction to the weighted sum of all without its own."""
    along = (similarity * weights).sum(axis=1) - weights
    squares = (weights * (along + weights)).sum() - 2 * weights * along - np.square(weights)
    lengths = np.sqrt(squares.clip(min=0.0))
    some = lengths > NOWHERE
    return np.asarray(np.divide(along, lengths, out=np.zeros_like(along), where=some))
