"""The clustering of the group cold start, which turns the founders' updates into groups.

Reference: Duan et al., "Flexible Clustered Federated Learning for Client-Level Data Distribution
Shift", IEEE TPDS 2022, Algorithm 3, the steps between pre-training and the groups' means.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias

import numpy as np

from flexcfl.clustering.measures import Matrix, between, cosines, edc, gram, madc
from flexcfl.clustering.number import number_of_groups
from flexcfl.clustering.partitions import check_distinct, complete_linkage, k_means
from flexcfl.clustering.validity import silhouette, within
from flexcfl.errors import SettingsError, TrainingError, unknown
from flexcfl.protocol import Clustering, Ids, Vectors

# Takes the scalar products and the embedding, which has one column for each group wanted, and
# returns the groups and the distances by which they were found.
Measure: TypeAlias = Callable[[Matrix, Matrix, np.random.Generator], tuple[Ids, Matrix]]


def _by_edc(products: Matrix, embedding: Matrix, rng: np.random.Generator) -> tuple[Ids, Matrix]:
    # The factor 1/m of Eq. 7 changes neither the groups nor their silhouettes.
    return k_means(embedding, embedding.shape[1], rng), between(embedding)


def _by_madc(products: Matrix, embedding: Matrix, rng: np.random.Generator) -> tuple[Ids, Matrix]:
    check_distinct(embedding, embedding.shape[1])
    distances = madc(cosines(products))
    return complete_linkage(distances, embedding.shape[1]), distances


MEASURES: Mapping[str, Measure] = MappingProxyType({"edc": _by_edc, "madc": _by_madc})


def cluster(
    clients: Ids,
    updates: Vectors,
    groups: int | Literal["auto"],
    measure: str,
    rng: np.random.Generator,
    most_groups: int = 10,
) -> Clustering:
    """Divide clients into groups by their updates; row ``i`` is the update of ``clients[i]``.

    The measure ``edc`` clusters the cosines to the leading directions by K-means++; ``madc``
    clusters the mean absolute differences of cosines by complete linkage. The silhouette uses the
    same distances. With either measure, the embedding is the cosines to the leading directions:
    ``within`` is computed from it, and ``auto`` chooses the number of groups by it, at most
    ``most_groups``. A zero update has no direction and lies at the origin.
    """
    if measure not in MEASURES:
        raise SettingsError(unknown("measure", measure, MEASURES))
    products = gram(updates)
    _check_finite(clients, products)
    number = number_of_groups(products, most_groups, rng) if groups == "auto" else groups
    _check_enough(len(clients), number)
    embedding = edc(products, number)
    group_of, distances = MEASURES[measure](products, embedding, rng)
    return Clustering(
        clients,
        group_of,
        number,
        embedding,
        within=within(embedding, group_of),
        silhouette=silhouette(distances, group_of),
    )


def _check_finite(clients: Ids, products: Matrix) -> None:
    diverged = clients[~np.isfinite(np.diagonal(products))]
    if len(diverged):
        raise TrainingError(
            f"The update of client {diverged[0]} is not finite, so it fits no group: "
            "its pre-training diverged, so lower the rate."
        )


def _check_enough(clients: int, groups: int) -> None:
    if not 1 <= groups <= clients:
        raise TrainingError(
            f"The updates of {clients} clients cannot be divided into {groups} groups: "
            "ask for fewer groups, or let more clients found them."
        )
