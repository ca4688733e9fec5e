"""Small federations for the bound, drawn or made by hand."""

from collections.abc import Sequence

import numpy as np

from flexcfl.paper.convergence import Examples

CLASSES = 3


def drawn(rng: np.random.Generator, scale: float = 1.0) -> tuple[list[list[Examples]], np.ndarray]:
    """Return groups of clients of all sizes, whose examples differ, and a model for each group."""
    features = int(rng.integers(1, 5))
    groups = [
        [_client(rng, features, scale) for _ in range(rng.integers(1, 5))]
        for _ in range(rng.integers(1, 4))
    ]
    return groups, rng.normal(0, 1, (len(groups), CLASSES * (features + 1)))


def labelled(zeros: int, ones: int, x: Sequence[float] = (1.0,)) -> Examples:
    """Return a client with one example many times, under two labels."""
    labels = np.repeat([0, 1], [zeros, ones])
    return Examples.of(np.tile(x, (len(labels), 1)), labels)


def _client(rng: np.random.Generator, features: int, scale: float) -> Examples:
    examples = int(rng.integers(1, 9))
    x = rng.normal(rng.normal(0, scale, features), scale, (examples, features))
    return Examples.of(x, rng.integers(0, CLASSES, examples))
