"""The Gaussian mechanism: updates of bounded length, and noise that hides any one of them.

Dwork, Roth: The Algorithmic Foundations of Differential Privacy, 2014, Appendix A. McMahan, Ramage,
Talwar, Zhang: Learning Differentially Private Recurrent Language Models. ICLR 2018 (clipped
updates of whole clients, the noise on their sum).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flexcfl.aggregation import Weights, norms
from flexcfl.protocol import Ids, Vector, Vectors

__all__ = ["PrivateMean", "clipped", "noised"]

# Rounding to float32 makes a vector longer by less than this share.
ROUNDING = 2.0**-23


def clipped(vectors: Vectors, bound: float) -> Vectors:
    """Return vectors of which none is longer than the bound; shorter ones are as they were.

    One that is not finite has no length to which it could be shortened, and becomes zero: the bound
    holds whatever a client computed.
    """
    lengths = _lengths(vectors)
    short = vectors.copy()
    for row in np.flatnonzero(~(lengths <= bound)):
        short[row] = _clipped(vectors[row], lengths[row], bound * (1 - ROUNDING))
    return short


def noised(vector: Vector, deviation: float, rng: np.random.Generator) -> Vector:
    """Return a vector with Gaussian noise of this standard deviation on each of its numbers."""
    return (vector + rng.normal(scale=deviation, size=len(vector))).astype(np.float32)


@dataclass(frozen=True)
class PrivateMean:
    """The mean of updates that were clipped, with noise on their sum: a rule of aggregation.

    Each update is shortened to the length ``clip``, all count alike because a weight would be
    another thing to tell of a client, and every number of the sum gets Gaussian noise of standard
    deviation ``noise * clip`` before it is divided by how many there are.
    """

    clip: float
    noise: float

    def __call__(
        self, updates: Vectors, rows: Ids, weights: Weights, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return the noised mean of the rows."""
        total = np.asarray(rng.normal(scale=self.noise * self.clip, size=updates.shape[1]))
        # Row by row, so that no float64 copy of all updates is made.
        for row in rows:
            length = _lengths(updates[row][np.newaxis])[0]
            total += _clipped(updates[row], length, self.clip)
        return total / len(rows)


def _clipped(vector: Vector, length: float, bound: float) -> NDArray[np.float64]:
    if not np.isfinite(length):
        return np.zeros(len(vector))
    return np.multiply(vector, min(1.0, bound / length) if length else 1.0, dtype=np.float64)


def _lengths(vectors: Vectors) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore"):  # of NaNs that signal
        return norms(vectors)
