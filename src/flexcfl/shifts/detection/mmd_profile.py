"""What a client keeps of its examples for ``mmd``: random features, their means and their spread.

Inner products of random Fourier features are about a Gaussian kernel of examples: Rahimi and Recht,
Random Features for Large-Scale Kernel Machines, NeurIPS 2007. The trace of a squared covariance is
estimated as by Bai and Saranadasa, "Effect of High Dimension", Statistica Sinica 6, 1996, because
the plain one is far too large for a few examples.
"""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexcfl.protocol import Ids
from flexcfl.shifts.detection.detector import Profiles

__all__ = ["Moments", "embedded", "moments", "traces"]

SEED = 0  # every client draws the same features, in every round


def embedded(x: NDArray[np.float32], features: int, bandwidth: float) -> NDArray[np.float64]:
    r"""Return :math:`\sqrt{2 / D} \cos(W x + b)` of examples of any shape, one row for each.

    Numbers are clipped to [-1, 1] first, so that a rare pixel that standardising has blown up
    does not outweigh the image, and each example is scaled to length 1, so that a ``bandwidth``
    means the same for all data.
    """
    flat = np.clip(x.reshape(len(x), math.prod(x.shape[1:])), -1.0, 1.0)
    norms = np.linalg.norm(flat, axis=1, keepdims=True)
    frequencies, phases = _drawn(flat.shape[1], features)
    angles = flat / np.where(norms > 0, norms, 1.0) @ frequencies / bandwidth + phases
    return np.asarray(math.sqrt(2 / features) * np.cos(angles), dtype=np.float64)


class Moments(NamedTuple):
    """Profiles of many clients, taken apart."""

    counts: NDArray[np.float64]  # (clients, labels)
    traces: NDArray[np.float64]  # (clients, labels), of the covariance within each label
    square: NDArray[np.float64]  # (clients,), the trace of its square, a mean over labels
    means: NDArray[np.float64]  # (clients, labels, features)

    @classmethod
    def of(cls, profiles: Profiles, features: int) -> "Moments":
        """Take apart rows as ``moments`` makes them."""
        labels = (profiles.shape[1] - 1) // (features + 2)
        ends = [labels, 2 * labels, 2 * labels + 1]
        counts, traces, square, means = np.split(profiles, ends, axis=1)
        return cls(counts, traces, square[:, 0], means.reshape(len(profiles), labels, features))

    @property
    def freedom(self) -> NDArray[np.float64]:
        """Degrees of freedom of each label's covariance."""
        return np.asarray(np.maximum(self.counts - 1, 0))

    @property
    def weight(self) -> NDArray[np.float64]:
        """How much the trace of a square is worth, which one degree of freedom does not tell."""
        return np.asarray(np.maximum(self.counts - 2, 0).sum(axis=-1))


def moments(points: NDArray[np.float64], y: Ids, counts: Ids) -> NDArray[np.float64]:
    """Return the row of one client: 2 labels + 1 + labels x features numbers."""
    spread, means = np.zeros((2, len(counts))), np.zeros((len(counts), points.shape[1]))
    for label in np.flatnonzero(counts):
        members = points[y == label]
        means[label] = members.mean(axis=0)
        spread[:, label] = traces(members - means[label])
    weights = np.maximum(counts - 2, 0)
    square = (weights * spread[1]).sum() / max(weights.sum(), 1)
    return np.concatenate([counts, spread[0], [square], means.ravel()])


def traces(residuals: NDArray[np.float64]) -> tuple[float, float]:
    """Return unbiased traces of a covariance and of its square, zero where they are not known.

    The second may be negative, being unbiased; bounds are for where it is used.
    """
    freedom = len(residuals) - 1
    tall = len(residuals) > residuals.shape[1]
    products = residuals.T @ residuals if tall else residuals @ residuals.T
    trace, square = np.trace(products) / max(freedom, 1), np.sum(products**2)
    if freedom < 2:
        return float(trace), 0.0
    square = (square - freedom * trace**2) / ((freedom + 2) * (freedom - 1))
    return float(trace), float(square)


@lru_cache(maxsize=4)
def _drawn(numbers: int, features: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    rng = np.random.default_rng(SEED)
    frequencies = rng.standard_normal((numbers, features), dtype=np.float32)
    return frequencies, rng.uniform(0, 2 * np.pi, features).astype(np.float32)
