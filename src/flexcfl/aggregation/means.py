"""Aggregation by means: from the updates of a group to its step, and between groups.

Duan et al.: Flexible Clustered Federated Learning for Client-Level Data Distribution Shift. IEEE
TPDS 2022, Algorithm 2: intra-group aggregation, which the paper does by the weighted mean, and
inter-group aggregation.
"""

from typing import Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from flexcfl.protocol import Ids, Trained, Vectors

FORBID = ConfigDict(extra="forbid")

Averaging: TypeAlias = Literal["simple", "examples"]
"""Whether all clients have the same weight, or each the number of its examples."""
Weights: TypeAlias = NDArray[np.int64] | NDArray[np.float64]
"""The weight of each update."""
Sharing: TypeAlias = Literal["convex", "additive"]
"""How groups share: by a weighted mean of models, or by the sum of the paper."""


class Rule(Protocol):
    """How the updates of one group become its step."""

    def __call__(
        self, updates: Vectors, rows: Ids, weights: Weights, rng: np.random.Generator
    ) -> NDArray[np.float64] | NDArray[np.float32]:
        """Return the step of a group; its updates are one or more ``rows`` of ``updates``.

        ``weights[row]`` is the weight of an update, for rules that trust weights.
        """
        ...


@dataclass(frozen=True, config=FORBID)
class Mean:
    """The weighted mean, as in FedAvg and FlexCFL; a zero step if all weights are zero."""

    def __call__(
        self, updates: Vectors, rows: Ids, weights: Weights, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return the weighted mean of the rows."""
        return weighted_mean(updates, rows, weights[rows])


MEAN = Mean()
"""The default rule."""


def group_steps(
    rule: Rule,
    updates: Vectors,
    group_of: Ids,
    groups: int,
    weights: Weights,
    rng: np.random.Generator,
) -> Vectors:
    """Return the step of every group, as an array of ``groups`` rows.

    Row ``i`` of ``updates`` belongs to group ``group_of[i]`` and has the weight ``weights[i]``. A
    group without updates gets a zero step.

    >>> updates, rng = np.array([[2, 0], [6, 4]], dtype=np.float32), np.random.default_rng(0)
    >>> group_steps(MEAN, updates, np.array([1, 1]), 2, np.array([3, 1]), rng)
    array([[0., 0.],
           [3., 1.]], dtype=float32)
    """
    if (group_of < 0).any():
        raise ValueError("an update belongs to no group")
    steps = np.zeros((groups, updates.shape[1]), dtype=np.float32)
    for group in np.unique(group_of):
        steps[group] = rule(updates, np.flatnonzero(group_of == group), weights, rng)
    return steps


def weighted_mean(updates: Vectors, rows: Ids, weights: Weights) -> NDArray[np.float64]:
    """Return the mean of some rows, of which the ``i``-th has the weight ``weights[i]``.

    It is zero if all weights are zero.
    """
    # Row by row: this makes no float64 copy of all updates and does not depend on BLAS threads.
    total = np.zeros(updates.shape[1])
    for row, weight in zip(rows, weights, strict=True):
        total += np.multiply(updates[row], weight, dtype=np.float64)
    whole = float(weights.sum())
    return total / (whole if whole > 0 else 1.0)


def stepped(
    models: Vectors,
    trained: Trained,
    rule: Rule,
    rng: np.random.Generator,
    averaging: Averaging = "examples",
) -> Vectors:
    """Return the models, each after the step of the clients that trained it."""
    examples = trained.examples
    counts = examples if averaging == "examples" else np.ones_like(examples)
    return models + group_steps(rule, trained.updates, trained.model_of, len(models), counts, rng)


def shared(models: Vectors, rate: float, sharing: Sharing) -> Vectors:
    r"""Return the groups' models after inter-group aggregation with rate :math:`\eta_g`.

    ``additive`` is Algorithm 2 of the paper, :math:`w_j + \eta_g \sum_{l \ne j} w_l / |w_l|`.
    ``convex`` divides that by :math:`1 + \eta_g \sum_{l \ne j} 1 / |w_l|`, which makes it a
    weighted mean of the models, as in the code behind the paper's numbers; with ``additive``, norms
    grow in every round. A zero model has no direction and shares nothing.
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


def norms(vectors: Vectors) -> NDArray[np.float64]:
    """Return the length of each vector."""
    # einsum makes no float64 copy of all vectors and does not depend on BLAS threads.
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)))
