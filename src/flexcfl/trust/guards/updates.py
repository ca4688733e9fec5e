"""The bound on the length of updates, and the admission of founders."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexcfl.aggregation import geometric_weights, norms
from flexcfl.aggregation.means import weighted_mean
from flexcfl.clustering import cosines, gram
from flexcfl.clustering.measures import Matrix
from flexcfl.protocol import Flags, Vectors

Centre: TypeAlias = NDArray[np.float64]

REST = 0.01  # the share of a model's length below which updates count as converged
FEWEST = 3  # with two updates, no median shows which of them is an outlier
NOWHERE = 1e-6  # a centre of unit vectors that is shorter than this has no direction


def length_bound(lengths: NDArray[np.float64], models: Vectors, factor: float | None) -> float:
    """Return the bound on lengths: ``factor`` times their median, which no minority can move far.

    If the number of lengths is even, the median is the lower of the middle two. With one or two
    lengths, the length of the longest of the ``models`` is used instead. A hundredth of that is
    always the minimum: if most clients have converged, a client that has drifted moves many times
    as far as they do. There is no bound if all lengths are zero, or there are none.

    >>> length_bound(np.array([1.0, 2.0, 1e6]), np.ones((1, 9), np.float32), 10.0)
    20.0
    >>> length_bound(np.array([1e6]), np.ones((1, 9), np.float32), 10.0)
    30.0
    """
    if factor is None or not len(lengths):
        return np.inf
    middle, model = (len(lengths) - 1) // 2, norms(models).max()
    median = np.partition(lengths, middle)[middle] if len(lengths) >= FEWEST else model
    measure = float(max(median, REST * model))
    return factor * measure if measure > 0 else np.inf


def shortened(updates: Vectors, lengths: NDArray[np.float64], bound: float) -> Vectors:
    """Return a copy in which updates longer than the bound are scaled down to it."""
    short = updates.copy()
    for row in np.flatnonzero(lengths > bound):
        factor = bound / lengths[row]
        np.multiply(updates[row], factor, out=short[row], dtype=np.float64, casting="same_kind")
    return short


def copies(updates: Vectors) -> Flags:
    """Return which updates equal that of an earlier row.

    Honest clients never learn exactly the same; clients with equal updates cooperate to gain
    weight.
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

    The centre is the geometric median of all directions, so that long updates have no advantage.
    Each update is compared with the centre without its own share, because otherwise even noise
    would agree with the centre. Later founders are judged by the ``centre`` of earlier ones. If
    fewer than three updates have a direction, or the directions cancel out, all are admitted. A
    zero update has no direction and cosine 0.
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
    """Return the cosine of each direction to the weighted sum of all others."""
    along = (similarity * weights).sum(axis=1) - weights
    squares = (weights * (along + weights)).sum() - 2 * weights * along - np.square(weights)
    lengths = np.sqrt(squares.clip(min=0.0))
    some = lengths > NOWHERE
    return np.asarray(np.divide(along, lengths, out=np.zeros_like(along), where=some))
