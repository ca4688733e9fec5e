"""Clients of known clusters, each with a rule of its own for labels: no one model serves them all.

Cluster ``k`` labels ``x`` by ``argmax(x W_k + b_k)``; examples of all clients are drawn from the
same normal distribution. The rules are orthogonal to each other (as vectors of weights and biases),
so that what one cluster learns is of no use to another. Which client is of which cluster is the
federation's ``structure``: clustered algorithms can be held against it.
"""

from pathlib import Path
from typing import Annotated, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from pydantic.dataclasses import dataclass

from flexcfl.data.federation import Federation, IndexLists
from flexcfl.data.options import FORBID, Count, Seed, Share
from flexcfl.data.partition import split
from flexcfl.seeds import generator

__all__ = ["ClustersOptions", "load_clusters"]

LEAST = 2  # examples of a client: one to train, one to test

Width: TypeAlias = Annotated[int, Field(ge=1, le=10_000)]
Classes: TypeAlias = Annotated[int, Field(ge=2, le=1_000)]
Skew: TypeAlias = Annotated[float, Field(ge=0, le=2)]
Noise: TypeAlias = Annotated[float, Field(ge=0, le=1)]


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
    """Draw the federation; it needs no files, so ``folder`` has no part in it."""
    rng = generator(options.seed, "clusters")
    structure = rng.permutation(np.arange(options.clients) % options.clusters)
    spread = np.exp(options.skew * rng.standard_normal(options.clients))
    sizes = np.maximum(LEAST, np.rint(options.examples * spread)).astype(np.int64)
    x = rng.standard_normal((int(sizes.sum()), options.features), dtype=np.float32)
    y = _labels(x, np.repeat(structure, sizes), _rules(options, rng))
    random = rng.random(len(y)) < options.noise
    y[random] = rng.integers(options.classes, size=int(random.sum()))
    lists = IndexLists(np.arange(len(y)), np.concatenate([[0], np.cumsum(sizes)]))
    parts = split(list(lists), options.test_share, rng)
    return Federation("clusters", x, y, *parts, options.classes, structure)


def _rules(options: ClustersOptions, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return the weights of each cluster, the biases below: (clusters, features + 1, classes)."""
    shape = (options.clusters, options.features + 1, options.classes)
    rules = rng.standard_normal(shape)
    # What is added to all classes alike changes no label, and must not make rules look different.
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
