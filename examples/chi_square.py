"""A custom drift detector: a chi-square test on the label counts of each client."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from flexcfl.protocol import Flags
from flexcfl.shifts.detection import Samples
from flexcfl.shifts.detection.detector import Profiles


@dataclass(frozen=True)
class ChiSquare:
    """Pearson's test of whether label counts then and now come from one distribution.

    ``level`` is the accepted rate of false alarms.
    """

    level: float = 0.001

    def profiles(self, samples: Samples) -> Profiles:
        return samples.counts.astype(np.float64)

    def drifted(self, kept: Profiles, now: Profiles) -> Flags:
        both = np.stack([kept, now], axis=1)  # for each client a table of two rows
        rows, columns = both.sum(axis=2, keepdims=True), both.sum(axis=1, keepdims=True)
        expected = rows * columns / np.maximum(both.sum(axis=(1, 2), keepdims=True), 1)
        statistic = ((both - expected) ** 2 / np.maximum(expected, 1e-9)).sum(axis=(1, 2))
        freedom = np.maximum((columns > 0).sum(axis=(1, 2)) - 1, 1)
        return np.asarray(chi2.sf(statistic, freedom) < self.level)
