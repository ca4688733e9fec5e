"""Clients whose data are written down as label counts, or drawn around the centre of each label."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from flexcfl.drift import Samples

Drawn: TypeAlias = tuple[NDArray[np.float32], NDArray[np.int64]]
Labelled: TypeAlias = Callable[..., Samples]


@pytest.fixture
def labelled() -> Labelled:
    """Return samples of clients with the given label counts, and examples that look like them."""

    def make(
        counts: Sequence[Sequence[int]] | NDArray[np.int64],
        first_sizes: Sequence[int] | None = None,
        seed: int = 0,
        offset: float = 0.0,
    ) -> Samples:
        rows = np.asarray(counts, dtype=np.int64)
        sizes = rows.sum(axis=1) if first_sizes is None else np.asarray(first_sizes, np.int64)

        def examples(client: int) -> Drawn:
            y = np.repeat(np.arange(rows.shape[1]), rows[client])
            rng = np.random.default_rng((seed, client))
            x = rng.normal(scale=0.3, size=(len(y), 2, 3, 4)).astype(np.float32)
            x[:, 0, 0, 0] += y + 1
            x[:, 1] += offset
            return x, y

        return Samples(rows, sizes, examples)

    return make
