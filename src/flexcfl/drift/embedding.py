"""Random Fourier features: inner products of features are about a Gaussian kernel of examples.

Rahimi and Recht: Random Features for Large-Scale Kernel Machines. NeurIPS 2007.
"""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["embedded"]

SEED = 0  # every client draws the same features, in every round


def embedded(x: NDArray[np.float32], features: int, bandwidth: float) -> NDArray[np.float64]:
    r"""Return :math:`\sqrt{2 / D} \cos(W x + b)` of examples of any shape, one row for each.

    Numbers are clipped to [-1, 1] first, so that a rare pixel that standardising has blown up
    does not outweigh the image, and each example is scaled to length 1, so that a ``bandwidth``
    means the same for all data.
    """
    flat = np.clip(x.reshape(len(x), math.prod(x.shape[1:])), -1.0, 1.0)
    norms = np.linalg.norm(flat, axis=1, keepdims=True)
    frequencies, phases = _drawn(flat.shape[1], features)
    angles = flat / np.where(norms > 0, norms, 1.0) @ frequencies / bandwidth + phases
    return np.asarray(math.sqrt(2 / features) * np.cos(angles), dtype=np.float64)


@lru_cache(maxsize=4)
def _drawn(numbers: int, features: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    rng = np.random.default_rng(SEED)
    frequencies = rng.standard_normal((numbers, features), dtype=np.float32)
    return frequencies, rng.uniform(0, 2 * np.pi, features).astype(np.float32)
