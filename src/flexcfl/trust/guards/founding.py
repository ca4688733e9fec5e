"""Which founders are admitted: those that point with most others, and are not copies of another."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexcfl.aggregation import geometric_weights, norms
from flexcfl.aggregation.means import weighted_mean
from flexcfl.clustering import cosines, gram
from flexcfl.clustering.measures import Matrix
from flexcfl.protocol import Flags, Vectors
from flexcfl.trust.guards.proportion import FEWEST

__all__ = ["Centre", "copies", "judged"]

Centre: TypeAlias = NDArray[np.float64]

NOWHERE = 1e-6  # a centre of unit vectors that is shorter than this points nowhere


def copies(updates: Vectors) -> Flags:
    """Return which updates are those of an earlier row, number by number.

    Two clients do not learn the same; who sends the same has agreed on it, to weigh more.
    """
    lengths, found = norms(updates), np.zeros(len(updates), dtype=np.bool_)
    same_length: dict[float, list[int]] = {}  # the different updates of each length so far
    for row in np.flatnonzero(lengths).tolist():
        others = same_length.setdefault(float(lengths[row]), [])
        found[row] = any(np.array_equal(updates[other], updates[row]) for other in others)
        if not found[row]:
            others.append(row)
    return found


def judged(
    updates: Vectors, least: float, centre: Centre | None = None
) -> tuple[Flags, Centre | None]:
    """Return which updates have at least this cosine to the centre of the others, and the centre.

    It is the geometric median of all directions, in which none gains from being long. Nobody counts
    for itself: noise, which points with nobody, would otherwise point with the centre by its own
    share of it. Those who come later are judged by the ``centre`` of those before. Where fewer than
    three have a direction, or these cancel out, nobody can be told from the others and all are
    admitted. A zero update has no direction and cosine 0.
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
