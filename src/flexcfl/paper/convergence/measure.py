"""One round of all groups, measured: the clients' and groups' divergence and the constants.

Duan et al.: Flexible Clustered Federated Learning for Client-Level Data Distribution Shift. IEEE
TPDS 2022, Section 4.
"""

from collections.abc import Sequence

import numpy as np

from flexcfl.aggregation import shared
from flexcfl.paper.convergence.descent import Descent, descend, group_loss, shares_of
from flexcfl.paper.convergence.divergence import Divergence
from flexcfl.paper.convergence.regression import Examples, Numbers, lipschitz, smoothness

__all__ = ["measure"]


def measure(
    groups: Sequence[Sequence[Examples]],
    models: Numbers,
    rate: float,
    epochs: int,
    eta_g: float = 0.0,
) -> Divergence:
    """Train the members of all groups for some epochs, each group from its model, and compare.

    ``models`` has a row for each group. L and M are the largest over all clients, as the
    assumptions ask; they hold for the groups too, whose losses are means of their clients'.
    """
    descents = [
        descend(members, model, rate, epochs) for members, model in zip(groups, models, strict=True)
    ]
    everybody = [member for members in groups for member in members]
    sizes = np.array([sum(len(member.y) for member in members) for members in groups])
    federated = np.stack([descent.federated for descent in descents], axis=1)
    return Divergence(
        rate=rate,
        eta_g=eta_g,
        lipschitz=max(lipschitz(member) for member in everybody),
        smoothnesses=np.array([smoothness(member) for member in everybody]),
        group_of=np.repeat(np.arange(len(groups)), [len(members) for members in groups]),
        shares=np.concatenate([shares_of(members) for members in groups]),
        group_shares=sizes / sizes.sum(),
        deltas=np.concatenate([descent.deltas for descent in descents]),
        clients=np.hstack([descent.distances for descent in descents]),
        groups=np.stack([_distances(descent) for descent in descents], axis=1),
        gaps=_gaps(groups, descents, federated),
        shared_gaps=_gaps(groups, descents, np.stack([_shared(each, eta_g) for each in federated])),
    )


def _distances(descent: Descent) -> Numbers:
    distances: Numbers = np.linalg.norm(descent.federated - descent.virtual, axis=1)
    return distances


def _gaps(
    groups: Sequence[Sequence[Examples]], descents: Sequence[Descent], models: Numbers
) -> Numbers:
    """Return how far the loss of each group's model is from that of its virtual one."""
    columns = [
        [
            abs(group_loss(model, members) - group_loss(virtual, members))
            for model, virtual in zip(models[:, place], descent.virtual, strict=True)
        ]
        for place, (members, descent) in enumerate(zip(groups, descents, strict=True))
    ]
    return np.array(columns).T


def _shared(models: Numbers, eta_g: float) -> Numbers:
    # Models that travel are float32. What sharing adds to them is added to the exact ones here.
    rounded = models.astype(np.float32)
    added = shared(rounded, eta_g, "additive").astype(np.float64) - rounded
    return models + added
