"""How updates become one step of a model, and how the models of groups share what they learnt.

Duan et al.: Flexible Clustered Federated Learning for Client-Level Data Distribution Shift. IEEE
TPDS 2022, Algorithm 2: intra-group and inter-group aggregation.
"""

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexcfl.protocol import Ids, Vectors

__all__ = ["Averaging", "Sharing", "group_means", "norms", "shared", "weights"]

Averaging: TypeAlias = Literal["simple", "examples"]
Sharing: TypeAlias = Literal["convex", "additive"]


def group_means(
    updates: Vectors, group_of: Ids, groups: int, weights: NDArray[np.int64] | NDArray[np.float64]
) -> Vectors:
    """Return the weighted mean update of every group, as an array of ``groups`` rows.

    Row ``i`` of ``updates`` belongs to group ``group_of[i]`` and counts ``weights[i]``. A group
    nobody answered for, or whose weights are all zero, gets a zero step.

    >>> updates = np.array([[2, 0], [6, 4]], dtype=np.float32)
    >>> group_means(updates, np.array([1, 1]), 2, np.array([3, 1]))
    array([[0., 0.],
           [3., 1.]], dtype=float32)
    """
    if (group_of < 0).any():
        raise ValueError("an update belongs to no group")
    means = np.zeros((groups, updates.shape[1]), dtype=np.float32)
    for group in np.unique(group_of):
        members = np.flatnonzero(group_of == group)
        total = float(weights[members].sum())
        if total > 0:
            means[group] = _weighted_sum(updates, members, weights) / total
    return means


def _weighted_sum(
    updates: Vectors, rows: Ids, weights: NDArray[np.int64] | NDArray[np.float64]
) -> NDArray[np.float64]:
    # Row by row, so that no float64 copy of all updates is made and no BLAS thread count matters.
    total = np.zeros(updates.shape[1])
    for row in rows:
        total += np.multiply(updates[row], weights[row], dtype=np.float64)
    return total


def weights(averaging: Averaging, examples: Ids) -> Ids:
    """Return what each client counts in a mean: all the same, or as many as its examples."""
    return examples if averaging == "examples" else np.ones_like(examples)


def norms(vectors: Vectors) -> NDArray[np.float64]:
    """Return the length of each vector."""
    # By einsum, which makes no float64 copy of all vectors and does not depend on BLAS threads.
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)))


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
