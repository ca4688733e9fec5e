"""Differential privacy of updates: clipping, Gaussian noise, and the resulting epsilon.

Dwork, Roth: The Algorithmic Foundations of Differential Privacy, 2014, Appendix A. McMahan, Ramage,
Talwar, Zhang: Learning Differentially Private Recurrent Language Models. ICLR 2018 (clipped
updates of whole clients, the noise on their sum).

Two federations are neighbours if they differ in all data of one client. Its update may become any
other of length ``clip`` or less, so one release changes by up to 2 clip, and noise of standard
deviation ``noise * clip`` is noise / 2 times that. Releases compose as Gaussians do: n releases
with noise of z times the sensitivity reveal as much as one with z / sqrt(n) (Dong, Roth, Su:
Gaussian Differential Privacy. JRSS B 84, 2022, Corollary 2), whose epsilon is known exactly (Balle,
Wang: Improving the Gaussian Mechanism for Differential Privacy. ICML 2018, Theorem 8). It is
computed by Google's ``dp-accounting``. There is no amplification by sampling, because cohorts
follow from a seed that is not secret.
"""

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as settings

from flexcfl import seeds
from flexcfl.aggregation import Weights, norms
from flexcfl.errors import SettingsError
from flexcfl.protocol import Flags, Ids, Purpose, Vector, Vectors

__all__ = ["Privacy", "PrivacyGuard", "PrivateMean", "epsilon"]

Positive = Annotated[float, Field(gt=0, le=1e12, allow_inf_nan=False)]
Factor = Annotated[float, Field(ge=1e-6, le=1e12, allow_inf_nan=False)]

SENSITIVITY = 2.0  # in units of clip
MOST_ROUNDS = 10**9  # the largest number of rounds of a run
# Rounding to float32 lengthens a vector by less than this share.
ROUNDING = 2.0**-23


@settings(frozen=True, config=ConfigDict(extra="forbid"))
class Privacy:
    """Whether updates are clipped and noised, where, and how much.

    With ``level`` ``client`` every client clips its update to the length ``clip`` and adds Gaussian
    noise of standard deviation ``noise * clip`` to each number before the update leaves it, so the
    server need not be trusted. With ``group`` the server clips the updates and adds that noise once
    to the sum of each group, in which all clients have the same weight. ``delta`` is that of
    (epsilon, delta), None for one over the number of clients. ``epsilon`` is a budget: a client
    that would exceed it with another update does not answer from then on; None for no limit.
    """

    level: Literal["none", "client", "group"] = "none"
    clip: Factor = 1.0
    noise: Factor = 1.0
    delta: Annotated[float, Field(gt=0, lt=1)] | None = None
    epsilon: Positive | None = None

    def delta_for(self, clients: int) -> float:
        """Return the delta of a federation with this number of clients."""
        if self.delta is None and clients < 2:
            raise SettingsError(
                "[privacy] delta must be given if there is only one client: one over the "
                "number of clients would promise nothing."
            )
        return 1 / clients if self.delta is None else self.delta


@dataclass(eq=False)
class PrivacyGuard:
    """Counts the updates that each client releases and, at level ``client``, adds noise to them.

    A client's noise depends on the seed, the purpose of the update, the round, and the number of
    updates that it released before, not on other clients. No two of its updates share their noise,
    not even in one round, where their difference would otherwise be revealed.
    """

    settings: Privacy
    clients: int
    seed: int
    _released: Ids = field(init=False)
    _allowed: int | None = field(init=False)

    def __post_init__(self) -> None:
        settings, delta = self.settings, self.settings.delta_for(self.clients)
        self._released = np.zeros(self.clients, dtype=np.int64)
        epsilon(settings.noise, 1, delta)  # fails early if dp-accounting is not installed
        budget = settings.epsilon
        self._allowed = None if budget is None else most_releases(settings.noise, budget, delta)

    def protected(self, updates: Vectors, clients: Ids, purpose: Purpose, number: int) -> Vectors:
        """Return the updates as they leave their clients, each another one, in round ``number``."""
        if self.settings.level == "client":
            updates = clipped(updates, self.settings.clip)
            deviation = self.settings.noise * self.settings.clip
            for row, client in enumerate(clients.tolist()):
                before = int(self._released[client])
                rng = seeds.generator(self.seed, f"privacy {purpose}", number, client, before)
                updates[row] = noised(updates[row], deviation, rng)
        self._released[clients] += 1
        return updates

    def spent(self, clients: Ids) -> Flags:
        """Return which clients would exceed the budget with one more release."""
        if self._allowed is None:
            return np.zeros(len(clients), dtype=np.bool_)
        return np.asarray(self._released[clients] >= self._allowed)

    @property
    def most(self) -> int:
        """The largest number of updates that any client has released."""
        return int(self._released.max(initial=0))

    def memory(self) -> Ids:
        """Return a copy of how many updates each client has released."""
        return self._released.copy()

    def recall(self, released: Ids) -> None:
        """Go back to what ``memory`` returned."""
        self._released = released.copy()


@dataclass(frozen=True)
class PrivateMean:
    """An aggregation rule: the mean of clipped updates, with noise on their sum.

    Each update is clipped to the length ``clip``. All have the same weight, because a weight would
    reveal something about a client. Every number of the sum gets Gaussian noise of standard
    deviation ``noise * clip``; then the sum is divided by the number of updates.
    """

    clip: float
    noise: float

    def __call__(
        self, updates: Vectors, rows: Ids, weights: Weights, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return the noised mean of the rows."""
        total = np.asarray(rng.normal(scale=self.noise * self.clip, size=updates.shape[1]))
        # Row by row: this makes no float64 copy of all updates.
        for row in rows:
            length = _lengths(updates[row][np.newaxis])[0]
            total += _shortened(updates[row], length, self.clip)
        return total / len(rows)


def clipped(vectors: Vectors, bound: float) -> Vectors:
    """Return vectors that are not longer than the bound; shorter ones do not change.

    A vector that is not finite cannot be shortened and becomes zero, so the bound always holds.
    """
    lengths = _lengths(vectors)
    short = vectors.copy()
    for row in np.flatnonzero(~(lengths <= bound)):
        short[row] = _shortened(vectors[row], lengths[row], bound * (1 - ROUNDING))
    return short


def noised(vector: Vector, deviation: float, rng: np.random.Generator) -> Vector:
    """Return a vector with Gaussian noise of this standard deviation added to each number."""
    return (vector + rng.normal(scale=deviation, size=len(vector))).astype(np.float32)


def _shortened(vector: Vector, length: float, bound: float) -> NDArray[np.float64]:
    if not np.isfinite(length):
        return np.zeros(len(vector))
    return np.multiply(vector, min(1.0, bound / length) if length else 1.0, dtype=np.float64)


def _lengths(vectors: Vectors) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore"):  # of NaNs that signal
        return norms(vectors)


def epsilon(noise: float, releases: int, delta: float) -> float:
    """Return the epsilon of a number of releases of one client, each with this ``noise``.

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
    with np.errstate(divide="ignore"):  # the logarithm of a delta that rounds to zero
        return float(get_epsilon_gaussian(noise / SENSITIVITY / np.sqrt(releases), delta))


def most_releases(noise: float, budget: float, delta: float) -> int:
    """Return the number of releases that a budget, the largest allowed epsilon, covers.

    >>> most_releases(noise=10.0, budget=1.6, delta=1e-3)
    8
    """
    counts = range(MOST_ROUNDS + 1)
    allowed = bisect_right(counts, budget, key=lambda n: epsilon(noise, n, delta)) - 1
    if allowed == 0:
        raise SettingsError(
            f"[privacy] epsilon = {budget:g} is less than one update with noise {noise:g} costs "
            f"at delta {delta:.2g}: set it to {_above(epsilon(noise, 1, delta))} or more, "
            f"or privacy.noise to {_above(_least_noise(budget, delta))} or more."
        )
    return allowed


def _above(value: float) -> str:
    return f"{value * 1.005:.3g}"  # more than rounding to three digits may take off


def _least_noise(budget: float, delta: float) -> float:
    from dp_accounting.gaussian_mechanism import get_sigma_gaussian

    with np.errstate(divide="ignore"):
        return SENSITIVITY * float(get_sigma_gaussian(budget, delta))
