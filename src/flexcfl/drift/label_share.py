"""``label-share``: more of the data changed its label than a tenth, and than chance explains.

After Duan et al., "Flexible Clustered Federated Learning for Client-Level Data Distribution
Shift", TPDS 2022, Section 3.4, whose threshold of 0.2 n / labels for a mean of absolute differences
over the labels is a tenth of the data. The test is Pearson's for two samples (Philosophical
Magazine 50, 1900): small clients differ by chance.
"""

import numpy as np
from pydantic.dataclasses import dataclass

from flexcfl.drift.counts import crossed, homogeneity
from flexcfl.drift.detector import FORBID, Fraction, Level, Profiles, Samples
from flexcfl.protocol import Flags

__all__ = ["LabelShare"]


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
        """Return who changed by more than ``fraction``, and by more than sampling explains."""
        growth, sizes = crossed(kept, now)
        changed: Flags = np.abs(growth).sum(axis=-1) / (2 * sizes) > self.fraction
        changed[changed] = homogeneity(kept[changed], now[changed]) < self.level
        return changed
