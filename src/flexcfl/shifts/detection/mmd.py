"""``mmd``: examples of the same label look different than before, or the labels are others.

For shifts that leave the label proportions alone. The squared maximum mean discrepancy and the
gamma approximation of its null distribution are those of Gretton et al., "A Kernel Two-Sample
Test", JMLR 13, 2012, here within labels and of random features, so that a client keeps
means instead of examples.
"""

from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from pydantic.dataclasses import dataclass

from flexcfl.protocol import Flags
from flexcfl.shifts.detection.detector import FORBID, Fraction, Level, Profiles, Samples
from flexcfl.shifts.detection.label_counts import LabelShare
from flexcfl.shifts.detection.mmd_profile import Moments, embedded, moments
from flexcfl.threads import one_thread

__all__ = ["MMD"]

SMALLEST = 1e-12  # a covariance where all examples of a label are the same


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

    Drift is where that rejects at ``level`` / 2 and the squared distance beyond chance,
    :math:`(T - m) / \sum_l h_l`, exceeds ``least``; or where the labels that only one side has
    make up more than ``fraction`` of the data, and a chi-square test rejects at ``level`` / 2 that
    this is chance. How common the labels of both sides are has no say: see ``LabelShare``.
    """

    level: Level = 0.05
    least: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.12
    fraction: Fraction = 0.1
    features: Annotated[int, Field(ge=1, le=2**14)] = 256
    bandwidth: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0

    @one_thread  # every bit of a profile is the same wherever a client computes it
    def profiles(self, samples: Samples) -> Profiles:
        """Return counts and traces of each label, the trace of a square, and mean features."""
        clients, classes = samples.counts.shape
        rows = np.empty((clients, 2 * classes + 1 + classes * self.features))
        for client, counts in enumerate(samples.counts):
            x, y = samples.examples(client)
            rows[client] = moments(embedded(x, self.features, self.bandwidth), y, counts)
        return rows

    def drifted(self, kept: Profiles, now: Profiles) -> Flags:
        """Return which clients have examples of other looks, or of other labels, than they kept."""
        before, after = (Moments.of(side, self.features) for side in (kept, now))
        beyond, looks = _discrepancy(before, after)
        each = self.level / 2  # two tests share the false alarms
        labels = LabelShare(self.fraction, each)
        others = labels.drifted(*_foreign(before.counts, after.counts))
        return np.asarray((beyond > self.least) & (looks < each)) | others


def _discrepancy(
    before: Moments, after: Moments
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the squared distance of the means beyond chance, and the p-value of none at all."""
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
    """Return mean and variance of the statistic if nothing changed; zeros where that is unknown.

    A label of one example on both sides is taken to vary as the others do on the whole.
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
    """Return the trace of the squared covariance, within what the trace allows it to be."""
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
