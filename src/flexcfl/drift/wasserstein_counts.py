"""``wasserstein-counts``: what the paper's released code computes, kept to show what it misses.

The code hands the label counts to the Wasserstein distance as samples. Sorted counts are compared,
so it does not matter which label a count belongs to; growth looks like change; and the threshold
is that of the first day.
"""

import numpy as np
from pydantic.dataclasses import dataclass

from flexcfl.drift.detector import FORBID, Fraction, Profiles, Samples
from flexcfl.protocol import Flags

__all__ = ["WassersteinCounts"]


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
        """Return whose sorted counts differ by more than ``fraction`` of what there was at first.

        Both sides of the rule are taken times the number of labels.
        """
        distance = np.abs(now[:, :-1] - kept[:, :-1]).sum(axis=-1)
        return np.asarray(distance > self.fraction * kept[:, -1])
