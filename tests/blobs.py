"""A federation small enough for many runs."""

import numpy as np
import pytest

from flexcfl.data import Federation, IndexLists

CLIENTS = 6


@pytest.fixture(scope="session")
def blobs() -> Federation:
    """Return the federation of ``make_blobs``, made once."""
    return make_blobs()


def make_blobs() -> Federation:
    """Six clients, each with two of three well separated clusters."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 40)
    x = (rng.normal(size=(120, 2)) * 0.3 + np.array([[0, 2], [2, 0], [-2, -1]])[y]).astype(
        np.float32
    )
    owned = [
        np.concatenate(
            [np.arange(20 * c, 20 * c + 20) % 120, np.arange(20 * c + 40, 20 * c + 50) % 120]
        )
        for c in range(CLIENTS)
    ]
    train, test = [own[5:] for own in owned], [own[:5] for own in owned]
    return Federation("blobs", x, y, IndexLists.of(train), IndexLists.of(test), 3)
