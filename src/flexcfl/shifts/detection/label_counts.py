"""Detectors that compare label counts from when the client was placed with current ones.

``LabelShare`` is after Duan et al., "Flexible Clustered Federated Learning for Client-Level Data
Distribution Shift", TPDS 2022, Section 3.4, whose threshold of 0.2 n / labels for a mean of
absolute differences over the labels is a tenth of the data. The test is Pearson's for two samples
(Philosophical Magazine 50, 1900): small clients differ by chance.

``Wasserstein`` takes the same section at its word: "20% training data change will be considered as
distribution shift".

``WassersteinCounts`` computes what the paper's released code computes, and is kept to show what
that misses. The code passes the label counts to the Wasserstein distance as samples. So sorted
counts are compared, and it does not matter which label a count belongs to; growth looks like
change; and the threshold depends on the data of the start.
"""

from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from pydantic.dataclasses import dataclass

from flexcfl.protocol import Flags
from flexcfl.shifts.detection.detector import FORBID, Fraction, Level, Profiles, Samples


@dataclass(frozen=True, config=FORBID)
class LabelShare:
    r"""Drift is :math:`\frac12 \sum_l |p'_l - p_l| > f` with a chi-square test that rejects.

    :math:`p` and :math:`p'` are a client's label proportions when it was placed and now. The share
    of the data that changed must exceed ``fraction``, and a two-sample chi-square test of the
    counts must reject at ``level`` that both are drawn from the same proportions.
    """

    fraction: Fraction = 0.1
    level: Level = 0.05

    def profiles(self, samples: Samples) -> Profiles:
        """Return the label counts."""
        return samples.counts.astype(np.float64)

    def drifted(self, kept: Profiles, now: Profiles) -> Flags:
        """Return which clients changed by more than ``fraction``, and more than by chance."""
        growth, sizes = _crossed(kept, now)
        changed: Flags = np.abs(growth).sum(axis=-1) / (2 * sizes) > self.fraction
        changed[changed] = homogeneity(kept[changed], now[changed]) < self.level
        return changed


@dataclass(frozen=True, config=FORBID)
class Wasserstein:
    r"""Drift is :math:`W_1(p, p') = \sum_l |\sum_{k \le l} (p'_k - p_k)| > \tau`.

    This is the cost of moving the old label proportions to the current ones, if neighbouring labels
    are 1 apart: a tenth of the data that moves from label 0 to label 9 costs 0.9. ``threshold`` is
    the distance that must be exceeded.
    """

    threshold: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.2

    def profiles(self, samples: Samples) -> Profiles:
        """Return the label counts."""
        return samples.counts.astype(np.float64)

    def drifted(self, kept: Profiles, now: Profiles) -> Flags:
        """Return which clients' label proportions moved by more than ``threshold``."""
        growth, sizes = _crossed(kept, now)
        moved = np.abs(growth.cumsum(axis=-1)).sum(axis=-1) / sizes
        return np.asarray(moved > self.threshold)


@dataclass(frozen=True, config=FORBID)
class WassersteinCounts:
    r"""Drift is :math:`\frac1L \sum_i |c'_{(i)} - c_{(i)}| > f n_0 / L` for counts sorted by size.

    :math:`L` is the number of labels and :math:`n_0` the number of training examples at the start
    of the run; ``fraction`` is the :math:`f` of the threshold, 0.2 in the paper.
    """

    fraction: Fraction = 0.2

    def profiles(self, samples: Samples) -> Profiles:
        """Return the label counts, smallest first, and the number of examples at the start."""
        return np.column_stack([np.sort(samples.counts, axis=-1), samples.first_sizes]) * 1.0

    def drifted(self, kept: Profiles, now: Profiles) -> Flags:
        """Return whose sorted counts differ by more than ``fraction`` of the first data.

        Both sides of the rule are multiplied by the number of labels.
        """
        distance = np.abs(now[:, :-1] - kept[:, :-1]).sum(axis=-1)
        return np.asarray(distance > self.fraction * kept[:, -1])


def _crossed(kept: Profiles, now: Profiles) -> tuple[Profiles, NDArray[np.float64]]:
    """Return the growth of each label's share, times a number, and that number.

    The number is the product of both sizes, or 1 if a client has or had no data, whose growth is
    then zero. Products of counts are exact whole numbers: equal shares differ by exactly zero,
    whatever the sizes, and sums over labels may be compared with a threshold.
    """
    before, after = (part.sum(axis=-1, keepdims=True) for part in (kept, now))
    growth: Profiles = now * before - kept * after
    return growth, np.maximum(before * after, 1.0)[..., 0]


def homogeneity(kept: Profiles, now: Profiles) -> NDArray[np.float64]:
    r"""Return the p-values of Pearson's chi-square test that both counts are of one distribution.

    :math:`\chi^2 = n n' \sum_l (c'_l / n' - c_l / n)^2 / (c_l + c'_l)` over the labels that either
    has, with one degree of freedom less than such labels and no continuity correction. The p-value
    is 1 if there is nothing to compare.

    >>> import numpy as np
    >>> homogeneity(np.array([[9.0, 1.0, 0.0]]), np.array([[5.0, 5.0, 0.0]])).round(3)
    array([0.051])
    """
    # Imported here, because importing SciPy is slow.
    from scipy.special import chdtrc

    growth, sizes = _crossed(kept, now)
    together = kept + now
    statistic = (growth**2 / np.maximum(together, 1.0)).sum(axis=-1) / sizes
    freedom = np.maximum(np.count_nonzero(together, axis=-1) - 1, 1)
    # Without a second label, or a second sample, the statistic is zero and so the value is 1.
    return np.asarray(chdtrc(freedom, statistic))
