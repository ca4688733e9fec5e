"""How the models of groups share what they learnt.

Duan et al.: Flexible Clustered Federated Learning for Client-Level Data Distribution Shift. IEEE
TPDS 2022, Algorithm 2: inter-group aggregation.
"""

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexcfl.aggregation.means import norms
from flexcfl.protocol import Vectors

__all__ = ["Sharing", "shared"]

Sharing: TypeAlias = Literal["convex", "additive"]
"""How groups share: a weighted mean of models, or the sum of the paper."""


def shared(models: Vectors, rate: float, sharing: Sharing) -> Vectors:
    r"""Return the groups' models after inter-group aggregation with rate :math:`\eta_g`.

    ``additive`` is Algorithm 2 of the paper, :math:`w_j + \eta_g \sum_{l \ne j} w_l / |w_l|`.
    ``convex`` divides that by :math:`1 + \eta_g \sum_{l \ne j} 1 / |w_l|`, which makes it a
    weighted mean of the models, as in the code that gave the paper's numbers; the additive form
    lets norms grow every round. A model that is zero has no direction and shares nothing.
    """
    if rate == 0 or len(models) < 2:
        return models
    lengths = norms(models)
    inverse = np.divide(rate, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    shares = np.tile(inverse, (len(models), 1))  # row j: what each model adds to model j
    np.fill_diagonal(shares, 1.0)
    if sharing == "convex":
        shares /= shares.sum(axis=1, keepdims=True)
    mixed: NDArray[np.float64] = np.einsum("jl,ld->jd", shares, models, dtype=np.float64)
    return mixed.astype(np.float32)
