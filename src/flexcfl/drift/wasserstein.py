"""``wasserstein``: the paper's words, a distance between label proportions over the label axis.

Duan et al., "Flexible Clustered Federated Learning for Client-Level Data Distribution Shift",
TPDS 2022, Section 3.4: "20% training data change will be considered as distribution shift".
"""

from typing import Annotated

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from flexcfl.drift.counts import crossed
from flexcfl.drift.detector import FORBID, Profiles, Samples
from flexcfl.protocol import Flags

__all__ = ["Wasserstein"]


@dataclass(frozen=True, config=FORBID)
class Wasserstein:
    r"""Drift is :math:`W_1(p, p') = \sum_l |\sum_{k \le l} (p'_k - p_k)| > \tau`.

    What it costs to move the label proportions kept to those of now, where neighbouring labels are
    1 apart: a tenth of the data that moves from label 0 to label 9 counts 0.9. ``threshold`` is
    the distance that must be exceeded.
    """

    threshold: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.2

    def profiles(self, samples: Samples) -> Profiles:
        """Return the label counts."""
        return samples.counts.astype(np.float64)

    def drifted(self, kept: Profiles, now: Profiles) -> Flags:
        """Return whose label proportions moved by more than ``threshold``."""
        growth, sizes = crossed(kept, now)
        moved = np.abs(growth.cumsum(axis=-1)).sum(axis=-1) / sizes
        return np.asarray(moved > self.threshold)
