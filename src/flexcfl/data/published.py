"""What the published partitions share; they draw from NumPy's legacy generator, as published."""

from collections.abc import Sequence

import numpy as np

from flexcfl.data.federation import IndexLists
from flexcfl.data.partition import Indices

__all__ = ["nine_tenths"]


def nine_tenths(
    owned: Sequence[Indices], rng: np.random.RandomState
) -> tuple[IndexLists, IndexLists]:
    """Shuffle inside each client and take ``int(0.9 n)`` examples for training, others to test."""
    shuffled = [rng.permutation(indices) for indices in owned]
    train = [indices[: int(0.9 * len(indices))] for indices in shuffled]
    test = [indices[int(0.9 * len(indices)) :] for indices in shuffled]
    return IndexLists.of(train), IndexLists.of(test)
