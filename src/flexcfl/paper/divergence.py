r"""How far federated training in groups diverges from training on the pooled data, with its bounds.

Section 4 of the paper: Lemma 2, Theorem 1, and the bound with inter-group aggregation. The last one
lacks the Lipschitz constant M in its second term, and holds with it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flexcfl.aggregation import shared
from flexcfl.paper.regression import (
    ClientExamples,
    Numbers,
    descend,
    group_loss,
    lipschitz,
    shares_of,
    smoothness,
)
from flexcfl.protocol import Ids

PROVED = ("lemma", "own", "convex", "groups", "theorem", "shared")  # see holds

ROUNDING = 1e-9  # relative tolerance, for equalities that float64 does not keep exactly
NOTHING = 1e-12  # absolute tolerance, for values that should be zero


@dataclass(frozen=True, eq=False)
class MeasuredDivergence:
    r"""The divergence measured in one round of all groups, and its bounds from the constants.

    Rows are local epochs from 0 on, each taken as the last one. ``clients`` are the distances
    :math:`|w_e^k - v_e|`, ``groups`` the distances between the groups' models and their virtual
    ones, ``gaps`` the distances between their losses, and ``shared_gaps`` the same after additive
    inter-group aggregation with ``eta_g``. ``shares`` are the clients' fractions of their group's
    examples, ``group_shares`` the groups' fractions of all examples; ``smoothnesses`` and
    ``deltas`` are the clients' own constants.
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
        r"""The common factor of the bounds, for every epoch: :math:`((\eta L + 1)^e - 1) / L`."""
        return self._growth(np.array([self.smoothness]))[:, 0]

    @property
    def client_bounds(self) -> Numbers:
        """Lemma 2, for every epoch and client."""
        return np.outer(self.growth, self.deltas)

    @property
    def own_bounds(self) -> Numbers:
        """Lemma 2 with every client's own L; its proof needs no more."""
        return self._growth(self.smoothnesses) * self.deltas

    @property
    def convex_bounds(self) -> Numbers:
        r"""A tighter form of Lemma 2: :math:`e \eta \delta_k`, for every epoch and client.

        The proof of Lemma 2 never uses Assumption 1. A step on a convex loss with a rate of at most
        2 / L does not increase the distance of two models, so only the difference of the gradients
        adds to it. If the rate is larger than 2 / L of a client, it has no such bound: NaN.
        """
        rates = np.where(self.rate * self.smoothnesses <= 2, self.rate, np.nan)
        return np.outer(self.epochs, rates * self.deltas)

    @property
    def group_deltas(self) -> Numbers:
        """For every group the mean of its clients' deltas, weighted by examples."""
        members = self.group_of == np.arange(len(self.group_shares))[:, None]
        deltas: Numbers = members @ (self.shares * self.deltas)
        return deltas

    @property
    def group_bounds(self) -> Numbers:
        """The bound of Theorem 1 on each group's model, with the group's own delta."""
        return np.outer(self.growth, self.group_deltas)

    @property
    def averaged_bounds(self) -> Numbers:
        """The bound of Theorem 1 on the models with the paper's delta, a mean over all groups.

        Groups with a larger delta can exceed it (see ``holds``). The paper does not say how groups
        are weighted; here they are weighted by examples.
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
        # In logarithms, because the power is close to 1 if L is small.
        exponents = np.outer(self.epochs, np.log1p(self.rate * smoothnesses))
        growth: Numbers = np.expm1(exponents) / smoothnesses
        return growth

    @property
    def _moved(self) -> float:
        return self.eta_g * (len(self.group_shares) - 1)


def holds(divergence: MeasuredDivergence) -> dict[str, bool]:
    """Return which inequalities hold for all clients and groups, in every epoch.

    Those of ``PROVED`` have to. ``printed`` and ``averaged`` are as the paper prints them, although
    its proof does not show them.
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


def measure_divergence(
    groups: Sequence[Sequence[ClientExamples]],
    models: Numbers,
    rate: float,
    epochs: int,
    eta_g: float = 0.0,
) -> MeasuredDivergence:
    """Train the members of all groups for some epochs, each group from its model, and compare.

    ``models`` has a row for each group. L and M are the largest over all clients, as the
    assumptions require; they hold for the groups too, because a group's loss is a mean of its
    clients' losses.
    """
    descents = [
        descend(members, model, rate, epochs) for members, model in zip(groups, models, strict=True)
    ]
    clients = [member for members in groups for member in members]
    sizes = np.array([sum(len(member.y) for member in members) for members in groups])
    federated = np.stack([descent.federated for descent in descents], axis=1)
    virtual = np.stack([descent.virtual for descent in descents], axis=1)
    return MeasuredDivergence(
        rate=rate,
        eta_g=eta_g,
        lipschitz=max(lipschitz(client) for client in clients),
        smoothnesses=np.array([smoothness(client) for client in clients]),
        group_of=np.repeat(np.arange(len(groups)), [len(members) for members in groups]),
        shares=np.concatenate([shares_of(members) for members in groups]),
        group_shares=sizes / sizes.sum(),
        deltas=np.concatenate([descent.deltas for descent in descents]),
        clients=np.hstack([descent.distances for descent in descents]),
        groups=np.linalg.norm(federated - virtual, axis=2),
        gaps=_gaps(groups, virtual, federated),
        shared_gaps=_gaps(groups, virtual, np.stack([_shared(each, eta_g) for each in federated])),
    )


def _gaps(groups: Sequence[Sequence[ClientExamples]], virtual: Numbers, models: Numbers) -> Numbers:
    """Return the distance between the losses of each group's model and its virtual model."""
    rows = zip(models, virtual, strict=True)
    gaps = [
        abs(group_loss(model, members) - group_loss(other, members))
        for row in rows
        for members, model, other in zip(groups, *row, strict=True)
    ]
    return np.array(gaps).reshape(-1, len(groups))


def _shared(models: Numbers, eta_g: float) -> Numbers:
    # The server's models are float32. What sharing adds to those is added to the exact models here.
    rounded = models.astype(np.float32)
    added = shared(rounded, eta_g, "additive").astype(np.float64) - rounded
    return models + added
