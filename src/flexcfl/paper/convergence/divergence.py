r"""How far training in groups goes from training on a group's data together, beside its bounds.

Duan et al.: Flexible Clustered Federated Learning for Client-Level Data Distribution Shift. IEEE
TPDS 2022, Section 4: Lemma 2, Theorem 1, and the bound with inter-group aggregation. That last one
lacks the Lipschitz constant M at its second term, and holds with it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flexcfl.paper.convergence.regression import Numbers
from flexcfl.protocol import Ids

__all__ = ["PROVED", "Divergence", "kept"]

PROVED = ("lemma", "own", "convex", "groups", "theorem", "shared")  # see kept

ROUNDING = 1e-9  # relative, for equalities that float64 does not keep to the last digit
NOTHING = 1e-12  # and absolute, for what should be zero


@dataclass(frozen=True, eq=False)
class Divergence:
    r"""What was measured in one round of all groups; what bounds it is computed from the constants.

    Rows are local epochs from 0 on, each taken as the last one. ``clients`` are the distances
    :math:`|w_e^k - v_e|`, ``groups`` the distances of the groups' models from their virtual ones,
    ``gaps`` the distances of their losses, ``shared_gaps`` the same after additive inter-group
    aggregation with ``eta_g``. ``shares`` are the clients' parts of their group's examples,
    ``group_shares`` the groups' parts of all; ``smoothnesses`` and ``deltas`` are the clients'
    own constants.
    """

    rate: float
    eta_g: float
    lipschitz: float
    smoothnesses: Numbers
    group_of: Ids
    shares: Numbers
    group_shares: Numbers
    deltas: Numbers
    clients: Numbers
    groups: Numbers
    gaps: Numbers
    shared_gaps: Numbers

    @property
    def epochs(self) -> NDArray[np.int64]:
        """The local epochs: 0, 1, ..., E."""
        return np.arange(len(self.clients))

    @property
    def smoothness(self) -> float:
        """The one L of Assumption 3: the largest over clients."""
        return float(self.smoothnesses.max())

    @property
    def growth(self) -> Numbers:
        r"""What the bounds have in common, for every epoch: :math:`((\eta L + 1)^e - 1) / L`."""
        return self._growth(np.array([self.smoothness]))[:, 0]

    @property
    def client_bounds(self) -> Numbers:
        """Lemma 2, for every epoch and client."""
        return np.outer(self.growth, self.deltas)

    @property
    def own_bounds(self) -> Numbers:
        """Lemma 2 with every client's own L, which is all that its proof needs."""
        return self._growth(self.smoothnesses) * self.deltas

    @property
    def convex_bounds(self) -> Numbers:
        r"""What Lemma 2 could say: :math:`e \eta \delta_k`, for every epoch and client.

        Its proof never uses Assumption 1. A step on a convex loss with a rate of at most 2 / L
        brings no two models further apart, so only the difference of the gradients adds to the
        distance. A client for whose own L the rate is larger has no such bound: NaN.
        """
        rates = np.where(self.rate * self.smoothnesses <= 2, self.rate, np.nan)
        return np.outer(self.epochs, rates * self.deltas)

    @property
    def group_deltas(self) -> Numbers:
        """The mean of its clients' deltas for every group, weighted by examples."""
        members = self.group_of == np.arange(len(self.group_shares))[:, None]
        deltas: Numbers = members @ (self.shares * self.deltas)
        return deltas

    @property
    def group_bounds(self) -> Numbers:
        """What Theorem 1 says of the models, with each group's own delta, for every group."""
        return np.outer(self.growth, self.group_deltas)

    @property
    def averaged_bounds(self) -> Numbers:
        """What Theorem 1 says of the models with the paper's delta, a mean over all groups.

        A mean is no bound for each of the groups: those with a larger delta than that can exceed it
        (see ``kept``). The paper does not say what a group weighs; here its examples count.
        """
        return np.outer(self.growth, np.full_like(self.group_shares, self.delta))

    @property
    def delta(self) -> float:
        """The paper's intra-group gradient divergence, a mean over all groups (Definition 2)."""
        return float(self.group_shares @ self.group_deltas)

    @property
    def gap_bounds(self) -> Numbers:
        """Theorem 1, with each group's own delta."""
        return self.lipschitz * self.group_bounds

    @property
    def shared_bounds(self) -> Numbers:
        """Theorem 1 with inter-group aggregation, corrected: each direction moves the loss by M."""
        return self.gap_bounds + self.lipschitz * self._moved

    @property
    def printed_bounds(self) -> Numbers:
        """Theorem 1 with inter-group aggregation as the paper prints it, without that M."""
        return self.gap_bounds + self._moved

    def _growth(self, smoothnesses: Numbers) -> Numbers:
        # In logarithms, because the power and 1 are nearly equal where L is small.
        exponents = np.outer(self.epochs, np.log1p(self.rate * smoothnesses))
        growth: Numbers = np.expm1(exponents) / smoothnesses
        return growth

    @property
    def _moved(self) -> float:
        return self.eta_g * (len(self.group_shares) - 1)


def kept(divergence: Divergence) -> dict[str, bool]:
    """Tell which of the inequalities hold for everybody, in every epoch.

    Those of ``PROVED`` have to. ``printed`` and ``averaged`` are the paper's own words where they
    are not what its proof shows.
    """
    pairs = {
        "lemma": (divergence.clients, divergence.client_bounds),
        "own": (divergence.clients, divergence.own_bounds),
        "convex": (divergence.clients, np.nan_to_num(divergence.convex_bounds, nan=np.inf)),
        "groups": (divergence.groups, divergence.group_bounds),
        "theorem": (divergence.gaps, divergence.gap_bounds),
        "shared": (divergence.shared_gaps, divergence.shared_bounds),
        "printed": (divergence.shared_gaps, divergence.printed_bounds),
        "averaged": (divergence.groups, divergence.averaged_bounds),
    }
    return {
        name: bool((measured <= bounds * (1 + ROUNDING) + NOTHING).all())
        for name, (measured, bounds) in pairs.items()
    }
