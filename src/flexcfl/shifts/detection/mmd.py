"""``mmd``: examples of the same label look different than before, or the labels are others.

It detects shifts that do not change the label proportions. The squared maximum mean discrepancy and
the gamma approximation of its null distribution are those of Gretton et al., "A Kernel Two-Sample
Test", JMLR 13, 2012, here within labels and with random features, so that a client keeps means
instead of examples.

Inner products of random Fourier features approximate a Gaussian kernel: Rahimi and Recht, Random
Features for Large-Scale Kernel Machines, NeurIPS 2007. The trace of a squared covariance is
estimated as by Bai and Saranadasa, "Effect of High Dimension", Statistica Sinica 6, 1996, because
the plain estimate is far too large for a few examples.
"""

import math
from functools import lru_cache
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from pydantic.dataclasses import dataclass

from flexcfl.protocol import Flags, Ids
from flexcfl.shifts.detection.detector import FORBID, Fraction, Level, Profiles, Samples
from flexcfl.shifts.detection.label_counts import LabelShare
from flexcfl.threads import one_thread

SMALLEST = 1e-12  # the trace of a covariance if all examples of a label are equal
SEED = 0  # every client draws the same features, in every round


@dataclass(frozen=True, config=FORBID)
class MMD:
    r"""Drift is a different mean embedding within the labels, or labels that only one side has.

    Every example is clipped to [-1, 1], scaled to length 1 and mapped to ``features`` random
    Fourier features of a Gaussian kernel of width ``bandwidth``. With :math:`\mu_l` the mean of
    label :math:`l` and :math:`h_l = n_l n'_l / (n_l + n'_l)`, the statistic over the labels of both
    sides is :math:`T = \sum_l h_l \lVert \mu'_l - \mu_l \rVert^2`. If nothing changed, it is about
    gamma distributed with mean :math:`m = \sum_l \mathrm{tr} \Sigma_l` and variance
    :math:`2 \sum_l \mathrm{tr} \Sigma_l^2 (1 + 1 / \nu_l)`, where the covariances within labels
    are estimated from both sides with :math:`\nu_l = n_l + n'_l - 2` degrees of freedom.

    A client has drifted if this test rejects at ``level`` / 2 and the squared distance beyond
    chance, :math:`(T - m) / \sum_l h_l`, exceeds ``least``; or if the labels that only one side has
    make up more than ``fraction`` of the data, and a chi-square test rejects chance at
    ``level`` / 2. The proportions of labels that both sides have do not matter: see ``LabelShare``.
    """

    level: Level = 0.05
    least: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.12
    fraction: Fraction = 0.1
    features: Annotated[int, Field(ge=1, le=2**14)] = 256
    bandwidth: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0

    @one_thread  # so that a profile is the same to the bit wherever it is computed
    def profiles(self, samples: Samples) -> Profiles:
        """Return counts and traces of each label, the trace of a square, and mean features."""
        clients, classes = samples.counts.shape
        rows = np.empty((clients, 2 * classes + 1 + classes * self.features))
        for client, counts in enumerate(samples.counts):
            x, y = samples.examples(client)
            rows[client] = moments(embedded(x, self.features, self.bandwidth), y, counts)
        return rows

    def drifted(self, kept: Profiles, now: Profiles) -> Flags:
        """Return which clients' examples look different, or have other labels, than before."""
        before, after = (Moments.of(side, self.features) for side in (kept, now))
        beyond, looks = _discrepancy(before, after)
        each = self.level / 2  # two tests share the false alarms
        labels = LabelShare(self.fraction, each)
        others = labels.drifted(*_foreign(before.counts, after.counts))
        return np.asarray((beyond > self.least) & (looks < each)) | others


def embedded(x: NDArray[np.float32], features: int, bandwidth: float) -> NDArray[np.float64]:
    r"""Return :math:`\sqrt{2 / D} \cos(W x + b)` of examples of any shape, one row for each.

    Numbers are clipped to [-1, 1] first, so that a rare pixel made large by standardising does not
    dominate the image. Each example is scaled to length 1, so that a ``bandwidth`` has the same
    meaning for all data.
    """
    flat = np.clip(x.reshape(len(x), math.prod(x.shape[1:])), -1.0, 1.0)
    norms = np.linalg.norm(flat, axis=1, keepdims=True)
    frequencies, phases = _drawn(flat.shape[1], features)
    angles = flat / np.where(norms > 0, norms, 1.0) @ frequencies / bandwidth + phases
    return np.asarray(math.sqrt(2 / features) * np.cos(angles), dtype=np.float64)


class Moments(NamedTuple):
    """The parts of the profiles of many clients."""

    counts: NDArray[np.float64]  # (clients, labels)
    traces: NDArray[np.float64]  # (clients, labels), of the covariance within each label
    square: NDArray[np.float64]  # (clients,), the trace of its square, a mean over labels
    means: NDArray[np.float64]  # (clients, labels, features)

    @classmethod
    def of(cls, profiles: Profiles, features: int) -> "Moments":
        """Split rows made by ``moments`` into their parts."""
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
        """The weight of the trace of a square, which needs more than one degree of freedom."""
        return np.asarray(np.maximum(self.counts - 2, 0).sum(axis=-1))


def moments(points: NDArray[np.float64], y: Ids, counts: Ids) -> NDArray[np.float64]:
    """Return the profile of one client: 2 labels + 1 + labels x features numbers."""
    spread, means = np.zeros((2, len(counts))), np.zeros((len(counts), points.shape[1]))
    for label in np.flatnonzero(counts):
        members = points[y == label]
        means[label] = members.mean(axis=0)
        spread[:, label] = traces(members - means[label])
    weights = np.maximum(counts - 2, 0)
    square = (weights * spread[1]).sum() / max(weights.sum(), 1)
    return np.concatenate([counts, spread[0], [square], means.ravel()])


def traces(residuals: NDArray[np.float64]) -> tuple[float, float]:
    """Return unbiased traces of a covariance and of its square, zero if they are unknown.

    The second may be negative, because it is unbiased; ``_square`` bounds it.
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


def _discrepancy(
    before: Moments, after: Moments
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the squared distance of the means beyond chance, and the p-value of no difference."""
    from scipy.special import gammaincc

    weights = before.counts * after.counts / np.maximum(before.counts + after.counts, 1)
    statistic = np.einsum("cl,clf->c", weights, (after.means - before.means) ** 2)
    mean, variance = _null(before, after, weights > 0)
    known = mean > 0
    scale = np.where(known, variance, 1.0) / np.where(known, mean, 1.0)
    p = gammaincc(np.where(known, mean / scale, 1.0), statistic / scale)
    beyond = (statistic - mean) / np.maximum(weights.sum(axis=-1), 0.5)
    return np.where(known, beyond, 0.0), np.where(known, p, 1.0)


def _null(
    before: Moments, after: Moments, common: Flags
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and variance of the statistic if nothing changed; zeros if that is unknown.

    A label with one example on each side is assumed to vary like the other labels overall.
    """
    freedom = before.freedom + after.freedom
    total = freedom.sum(axis=-1, keepdims=True)
    sums = before.freedom * before.traces + after.freedom * after.traces
    overall = np.maximum(sums.sum(axis=-1, keepdims=True) / np.maximum(total, 1), SMALLEST)
    traces = np.where(freedom > 0, sums / np.maximum(freedom, 1), overall)
    inflation = 1 + 1 / np.maximum(np.where(freedom > 0, freedom, total), 1)
    usable = common & (total > 0)
    mean = np.maximum(traces, SMALLEST)
    square = _square(before, after, overall[:, 0])
    return (mean * usable).sum(axis=-1), 2 * square * (inflation * usable).sum(axis=-1)


def _square(before: Moments, after: Moments, trace: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the trace of the squared covariance, within the bounds that the trace implies."""
    weight = before.weight + after.weight
    sums = before.weight * before.square + after.weight * after.square
    square = np.where(weight > 0, sums / np.maximum(weight, 1), trace**2)
    return np.clip(square, trace**2 / before.means.shape[-1], trace**2)


def _foreign(
    before: NDArray[np.float64], after: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return counts of common labels together, of labels only before, and of labels only after."""
    kinds = np.stack([(before > 0) & (after > 0), after == 0, before == 0])
    one, other = ((kinds * counts).sum(axis=-1).T for counts in (before, after))
    return one, other
