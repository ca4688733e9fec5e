"""What updates that were clipped and noised tell of one client at most: epsilon, at a given delta.

Two federations are neighbours if they differ in all data of one client. Its update may become any
other of length ``clip`` or less, so that one release changes by up to 2 clip, and noise of standard
deviation ``noise * clip`` is noise / 2 times that. Releases compose as Gaussians do: n of them with
z times the sensitivity tell what one with z / sqrt(n) does (Dong, Roth, Su: Gaussian Differential
Privacy. JRSS B 84, 2022, Corollary 2), whose epsilon is known exactly (Balle, Wang: Improving the
Gaussian Mechanism for Differential Privacy. ICML 2018, Theorem 8). It is computed by Google's
``dp-accounting``. That clients are sampled is not counted in their favour: cohorts follow from a
seed that is no secret.
"""

from bisect import bisect_right

import numpy as np

from flexcfl.errors import SettingsError

__all__ = ["epsilon", "most_releases"]

SENSITIVITY = 2.0  # in units of clip
MOST = 10**9  # as many rounds as a run can have


def epsilon(noise: float, releases: int, delta: float) -> float:
    """Return the epsilon of so many releases of one client, each with this ``noise``.

    >>> round(epsilon(noise=10.0, releases=6, delta=1e-3), 2)
    1.32
    """
    if releases == 0:
        return 0.0
    try:
        from dp_accounting.gaussian_mechanism import get_epsilon_gaussian
    except ImportError:
        raise SettingsError(
            "Privacy needs the package dp-accounting, which counts epsilon: "
            "pip install 'flexcfl[privacy]'."
        ) from None
    with np.errstate(divide="ignore"):  # the logarithm of a delta that is zero but for rounding
        return float(get_epsilon_gaussian(noise / SENSITIVITY / np.sqrt(releases), delta))


def most_releases(noise: float, budget: float, delta: float) -> int:
    """Return how many releases a budget, the largest epsilon allowed, is good for.

    >>> most_releases(noise=10.0, budget=1.6, delta=1e-3)
    8
    """
    allowed = bisect_right(range(MOST + 1), budget, key=lambda n: epsilon(noise, n, delta)) - 1
    if allowed == 0:
        raise SettingsError(
            f"[privacy] epsilon = {budget:g} is less than one update with noise {noise:g} costs "
            f"at delta {delta:.2g}: set it to {_above(epsilon(noise, 1, delta))} or more, "
            f"or privacy.noise to {_above(_least_noise(budget, delta))} or more."
        )
    return allowed


def _above(value: float) -> str:
    return f"{value * 1.005:.3g}"  # by as much as rounding to three digits may take off


def _least_noise(budget: float, delta: float) -> float:
    from dp_accounting.gaussian_mechanism import get_sigma_gaussian

    with np.errstate(divide="ignore"):
        return SENSITIVITY * float(get_sigma_gaussian(budget, delta))
