"""Label counts of many clients, compared two by two: when the client was placed, and now."""

import numpy as np
from numpy.typing import NDArray

from flexcfl.drift.detector import Profiles

__all__ = ["crossed", "homogeneity"]


def crossed(kept: Profiles, now: Profiles) -> tuple[Profiles, NDArray[np.float64]]:
    """Return by how much the share of each label grew, times a number, and that number.

    The number is the product of both sizes, or 1 where a client has or had nothing, whose growth
    is then zero. Products of counts are whole numbers and exact: equal shares differ by exactly
    zero, whatever the sizes, and sums over labels may be compared with a threshold.
    """
    before, after = (part.sum(axis=-1, keepdims=True) for part in (kept, now))
    growth: Profiles = now * before - kept * after
    return growth, np.maximum(before * after, 1.0)[..., 0]


def homogeneity(kept: Profiles, now: Profiles) -> NDArray[np.float64]:
    r"""Return the p-values of Pearson's chi-square test that both counts are of one distribution.

    :math:`\chi^2 = n n' \sum_l (c'_l / n' - c_l / n)^2 / (c_l + c'_l)` over the labels that either
    has, with one degree of freedom less than there are such labels and no correction for
    continuity. Where there is nothing to compare the value is 1.

    >>> import numpy as np
    >>> homogeneity(np.array([[9.0, 1.0, 0.0]]), np.array([[5.0, 5.0, 0.0]])).round(3)
    array([0.051])
    """
    # Inside the function, because SciPy takes a while to import.
    from scipy.special import chdtrc

    growth, sizes = crossed(kept, now)
    together = kept + now
    statistic = (growth**2 / np.maximum(together, 1.0)).sum(axis=-1) / sizes
    freedom = np.maximum(np.count_nonzero(together, axis=-1) - 1, 1)
    # Without a second label, or a second sample, the statistic is zero and so the value is 1.
    return np.asarray(chdtrc(freedom, statistic))
