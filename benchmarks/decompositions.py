"""The points of EDC by a singular value decomposition of the updates, as in the paper (Eq. 7).

Each is on one thread, and in float32, as the updates are. SciPy and scikit-learn are imported in
the functions, as in the library.
"""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from flexcfl.protocol import Vectors
from flexcfl.threads import one_thread

OVERSAMPLES = 10  # columns that scikit-learn adds


def to_directions(updates: Vectors, directions: Vectors) -> NDArray[np.float32]:
    """Return the cosines of updates to directions of length one, which are rows."""
    lengths = np.sqrt(np.einsum("ij,ij->i", updates, updates))
    points: NDArray[np.float32] = updates @ directions.T / lengths[:, np.newaxis]
    return points


@one_thread
def by_exact(updates: Vectors, groups: int) -> NDArray[np.float32]:
    """Return EDC's points by all singular vectors."""
    from scipy.linalg import svd

    return to_directions(updates, svd(updates, full_matrices=False, check_finite=False)[2][:groups])


@one_thread
def by_randomized(updates: Vectors, groups: int) -> NDArray[np.float32]:
    """Return EDC's points by the truncated SVD of scikit-learn."""
    from sklearn.utils.extmath import randomized_svd

    return to_directions(updates, randomized_svd(updates, groups, random_state=0)[2])


@one_thread
def by_lanczos(updates: Vectors, groups: int) -> NDArray[np.float32]:
    """Return EDC's points by the truncated SVD of SciPy."""
    from scipy.sparse.linalg import svds

    return to_directions(updates, svds(updates, groups, v0=_start(updates))[2][::-1])


@one_thread
def lanczos_products(updates: Vectors, groups: int) -> int:
    """Return how often ``by_lanczos`` multiplies all updates by one vector."""
    from scipy.sparse.linalg import LinearOperator, svds

    number = 0

    def product(matrix: Vectors, vector: Vectors) -> Vectors:
        nonlocal number
        number += 1 if vector.ndim == 1 else vector.shape[1]
        return matrix @ vector

    ahead, back = partial(product, updates), partial(product, updates.T)
    counting = LinearOperator(
        updates.shape, ahead, back, matmat=ahead, rmatmat=back, dtype=updates.dtype
    )
    svds(counting, groups, v0=_start(updates))
    return number


def _start(updates: Vectors) -> NDArray[np.float32]:
    return np.ones(min(updates.shape), dtype=np.float32)
