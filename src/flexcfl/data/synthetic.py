"""Datasets that are drawn at random: ``synthetic`` and ``clusters``.

``synthetic`` is Synthetic(alpha, beta) of Li et al., "Federated Optimization in Heterogeneous
Networks", MLSys 2020. Client ``i`` labels ``x`` by ``argmax(x W_i + b_i)``. ``alpha`` spreads the
clients' models, ``beta`` their inputs; both are standard deviations. With seed 0 and 100 clients
there are 41,159 samples; no known seed gives the 75,349 that the literature reports.

``clusters`` has clients in known clusters, and no single model fits them all. Cluster ``k`` labels
``x`` by ``argmax(x W_k + b_k)``; the examples of all clients come from the same normal
distribution. The rules are orthogonal to each other (as vectors of weights and biases), so what
one cluster learns is of no use to another. The federation's ``structure`` holds the cluster of each
client, so clustered algorithms can be compared with it.
"""

from pathlib import Path
from typing import Annotated, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from pydantic.dataclasses import dataclass

from flexcfl.data.client_lists import IndexLists, offsets_of
from flexcfl.data.federation import Federation
from flexcfl.data.options import FORBID, Count, Seed, Share
from flexcfl.data.partition import split
from flexcfl.data.published_partitions import split_as_published
from flexcfl.seeds import generator

SYNTHETIC_CLASSES = 10
FEATURES = 60
LEAST = 2  # examples of each client in clusters: one for training, one for testing

Spread: TypeAlias = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]
Width: TypeAlias = Annotated[int, Field(ge=1, le=10_000)]
Classes: TypeAlias = Annotated[int, Field(ge=2, le=1_000)]
Skew: TypeAlias = Annotated[float, Field(ge=0, le=2)]
Noise: TypeAlias = Annotated[float, Field(ge=0, le=1)]


@dataclass(frozen=True, config=FORBID)
class SyntheticOptions:
    """Settings of ``synthetic``."""

    alpha: Spread = 1.0
    beta: Spread = 1.0
    clients: Count = 100
    seed: Seed = 0


def load_synthetic(options: SyntheticOptions, folder: Path | None = None) -> Federation:
    """Draw the federation; it needs no files, so ``folder`` is not used."""
    rng = np.random.RandomState(options.seed)
    sizes = rng.lognormal(4, 2, options.clients).astype(np.int64) + 50
    model_means = rng.normal(0, options.alpha, options.clients)
    input_means = rng.normal(0, options.beta, options.clients)
    centres = rng.normal(input_means[:, None], 1, (options.clients, FEATURES))
    lists = IndexLists(np.arange(sizes.sum()), offsets_of(sizes))
    x = np.empty((sizes.sum(), FEATURES), dtype=np.float32)
    y = np.empty(sizes.sum(), dtype=np.int64)
    for client, own in enumerate(lists):
        x[own], y[own] = _drawn(len(own), model_means[client], centres[client], rng)
    return Federation("synthetic", x, y, *split_as_published(list(lists), rng), SYNTHETIC_CLASSES)


def _drawn(
    count: int, model_mean: float, centre: NDArray[np.float64], rng: np.random.RandomState
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw one client's model and inputs, and label the inputs with the model."""
    weights = rng.normal(model_mean, 1, (FEATURES, SYNTHETIC_CLASSES))
    biases = rng.normal(model_mean, 1, SYNTHETIC_CLASSES)
    # The covariance is diagonal, (j + 1) ** -1.2, so the features can be drawn independently.
    deviations = np.arange(1, FEATURES + 1) ** -0.6
    x = centre + deviations * rng.standard_normal((count, FEATURES))
    return x, np.argmax(x @ weights + biases, axis=1)


@dataclass(frozen=True, config=FORBID)
class ClustersOptions:
    """Settings of ``clusters``.

    ``examples`` is the median number of a client's examples, ``skew`` the standard deviation of its
    logarithm, and ``noise`` the share of labels that are drawn at random instead.
    """

    clusters: Count = 3
    clients: Count = 90
    features: Width = 20
    classes: Classes = 10
    examples: Count = 100
    skew: Skew = 0.3
    noise: Noise = 0.0
    test_share: Share = 0.2
    seed: Seed = 0

    def __post_init__(self) -> None:
        if self.clusters > self.clients:
            raise ValueError(
                f"clusters must be at most {self.clients}, the number of clients, "
                f"not {self.clusters}."
            )
        rules = (self.features + 1) * (self.classes - 1)
        if self.clusters > rules:
            raise ValueError(
                f"clusters must be at most {rules}, the number of orthogonal rules with features = "
                f"{self.features} and classes = {self.classes}, not {self.clusters}."
            )


def load_clusters(options: ClustersOptions, folder: Path | None = None) -> Federation:
    """Draw the federation; it needs no files, so ``folder`` is not used."""
    rng = generator(options.seed, "clusters")
    structure = rng.permutation(np.arange(options.clients) % options.clusters)
    spread = np.exp(options.skew * rng.standard_normal(options.clients))
    sizes = np.maximum(LEAST, np.rint(options.examples * spread)).astype(np.int64)
    x = rng.standard_normal((int(sizes.sum()), options.features), dtype=np.float32)
    y = _labels(x, np.repeat(structure, sizes), _rules(options, rng))
    random = rng.random(len(y)) < options.noise
    y[random] = rng.integers(options.classes, size=int(random.sum()))
    lists = IndexLists(np.arange(len(y)), offsets_of(sizes))
    parts = split(list(lists), options.test_share, rng)
    return Federation("clusters", x, y, *parts, options.classes, structure)


def _rules(options: ClustersOptions, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return the weights and, in the last row, biases: (clusters, features + 1, classes)."""
    shape = (options.clusters, options.features + 1, options.classes)
    rules = rng.standard_normal(shape)
    # A constant that is added to all classes changes no label, so remove it from the rules.
    rules -= rules.mean(axis=2, keepdims=True)
    orthogonal, _ = np.linalg.qr(rules.reshape(options.clusters, -1).T)
    return np.ascontiguousarray(orthogonal.T).reshape(shape)


def _labels(
    x: NDArray[np.float32], cluster_of: NDArray[np.int64], rules: NDArray[np.float64]
) -> NDArray[np.int64]:
    y = np.empty(len(x), dtype=np.int64)
    for cluster, rule in enumerate(rules):
        members = np.flatnonzero(cluster_of == cluster)
        y[members] = np.argmax(x[members] @ rule[:-1] + rule[-1], axis=1)
    return y
