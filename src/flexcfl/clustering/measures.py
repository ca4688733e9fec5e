"""Similarity of clients' updates: pairwise cosines, MADC and EDC, all from one Gram matrix.

Reference: Duan et al., "Flexible Clustered Federated Learning for Client-Level Data Distribution
Shift", IEEE TPDS 2022, Eq. 6 and 7. Updates have millions of numbers and clients are few, so
everything is computed from scalar products, and the updates are read only once.
"""

from collections.abc import Iterator
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexcfl.protocol import Vectors
from flexcfl.threads import one_thread

Matrix: TypeAlias = NDArray[np.float64]

BLOCK = 2**21  # numbers that are converted to float64 at a time


def column_blocks(*vectors: Vectors) -> Iterator[slice]:
    """Return slices of columns small enough to convert to float64 one at a time."""
    columns = max(1, BLOCK // max(1, sum(len(each) for each in vectors)))
    parameters = vectors[0].shape[1]
    return (slice(start, start + columns) for start in range(0, parameters, columns))


@one_thread
def gram(updates: Vectors) -> Matrix:
    """Return the scalar products of all pairs of updates, in float64.

    It works through blocks of columns, so that no second copy of the updates is made. An element
    of the diagonal is finite exactly if the update is.
    """
    products = np.zeros((len(updates), len(updates)))
    with np.errstate(invalid="ignore"):  # infinity times zero; visible on the diagonal
        for columns in column_blocks(updates):
            block = updates[:, columns].astype(np.float64)
            products += block @ block.T
    return products


def cosines(products: Matrix) -> Matrix:
    """Return the cosine similarity of all pairs of updates, from their scalar products.

    A zero update has no direction: its cosine is 0 with everything, itself included.
    """
    norms = _norms(products)
    lengths = np.outer(norms, norms)
    similarity = np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)
    np.fill_diagonal(similarity, norms > 0)
    return np.clip(similarity, -1.0, 1.0)


@one_thread
def edc(products: Matrix, directions: int) -> Matrix:
    """Return the cosines of every update to the leading directions of all updates (Eq. 7).

    The directions are the first right singular vectors of the matrix of updates. They are never
    computed: if that matrix is U S V', the scalar products are U S^2 U', and U S holds the
    projections of the updates on V. Computed as (products U) / S and divided by the lengths of the
    updates, they stay precise for updates that are much shorter than others.

    As in the paper, the updates are decomposed without normalisation. A common factor changes
    nothing, but long updates count more: scaling the update of ONE client does not change its
    cosines to given directions, but it turns the directions, and with them all cosines.

    Directions beyond the rank of the updates are zeros, as are the cosines of a zero update.
    Singular vectors have no sign, so the cosine furthest from zero to each direction is made
    positive.
    """
    clients = len(products)
    embedding = np.zeros((clients, directions))
    values, vectors = (part[..., ::-1][..., :directions] for part in np.linalg.eigh(products))
    rank = int(np.sum(values > clients * np.finfo(np.float64).eps * max(0.0, values[0])))
    weights = _norms(products)[:, None] * vectors[:, :rank] / np.sqrt(values[:rank])
    points = np.clip(cosines(products) @ weights, -1.0, 1.0)
    furthest = points[np.abs(points).argmax(axis=0), np.arange(rank)]
    embedding[:, :rank] = points * np.where(furthest < 0, -1.0, 1.0)
    return embedding


def between(points: Matrix, metric: Literal["euclidean", "manhattan"] = "euclidean") -> Matrix:
    """Return the distances of all pairs of points."""
    # Imported here, because scikit-learn takes a second to import.
    from sklearn.metrics import DistanceMetric

    return np.asarray(DistanceMetric.get_metric(metric).pairwise(points))


def madc(similarity: Matrix) -> Matrix:
    """Return the mean absolute difference of two clients' cosines to all the others (Eq. 6).

    With one or two clients there are no others, and it is zero.
    """
    clients = len(similarity)
    if clients < 3:
        return np.zeros((clients, clients))
    # The Manhattan distance of two rows sums over all clients; subtract the two clients' own terms.
    overall = between(similarity, "manhattan")
    own = np.abs(np.diagonal(similarity)[:, None] - similarity)
    mean: Matrix = (overall - (own + own.T)) / (clients - 2)
    return mean.clip(0.0, 2.0)


def _norms(products: Matrix) -> NDArray[np.float64]:
    return np.sqrt(np.diagonal(products))
