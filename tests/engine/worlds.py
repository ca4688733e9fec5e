"""Clients that see a small pool in their own ways, and the pool one would have to make of it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from torch import nn

from flexcfl.data.variants import TURNS, Variants
from flexcfl.engine import Engine, PathName
from tests.engine.cohorts import CLASSES

EXAMPLES = 60
SIZES = (1, 9, 10, 33, 24)


def sample(
    shape: tuple[int, ...], rng: np.random.Generator
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    x = rng.normal(size=(EXAMPLES, *shape)).astype(np.float32)
    return x, rng.integers(CLASSES, size=EXAMPLES)


def random_variants(labellings: int, rng: np.random.Generator) -> Variants:
    own = np.arange(CLASSES)[np.newaxis]
    others = rng.permuted(np.repeat(own, labellings - 1, axis=0), axis=1)
    return Variants(EXAMPLES, np.concatenate([own, others]))


def random_rows(
    shape: tuple[int, ...], variants: Variants, turns: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    return variants.rows(
        rng.integers(EXAMPLES, size=shape),
        rng.integers(len(variants.labellings), size=shape),
        rng.integers(turns, size=shape),
    )


@dataclass(frozen=True, eq=False)
class World:
    """Every client sees in every way, so that batches are mixed."""

    shape: tuple[int, ...]
    labellings: int
    turns: int

    @cached_property
    def variants(self) -> Variants:
        return random_variants(self.labellings, np.random.default_rng(1))

    @cached_property
    def rows(self) -> list[NDArray[np.int64]]:
        rng = np.random.default_rng(2)
        return [random_rows((size,), self.variants, self.turns, rng) for size in SIZES]

    @property
    def made_rows(self) -> list[NDArray[np.int64]]:
        return np.split(np.arange(sum(SIZES)), np.cumsum(SIZES)[:-1])

    @property
    def pool_rows(self) -> list[NDArray[np.int64]]:
        return [rows % EXAMPLES for rows in self.rows]

    def engines(
        self, factory: Callable[[], nn.Module], path: PathName | None = None
    ) -> tuple[Engine, Engine, Engine]:
        """Return engines with variants, on the generated pool, and on the original pool."""
        x, y = sample(self.shape, np.random.default_rng(3))
        made_x, made_y = self.variants.gather(x, y, np.concatenate(self.rows))
        return (
            Engine(factory, x, y, CLASSES, variants=self.variants, path=path),
            Engine(factory, made_x, made_y, CLASSES, path=path),
            Engine(factory, x, y, CLASSES, path=path),
        )


WORLDS = {
    "turns": World((1, 8, 8), 1, TURNS),
    "labellings": World((1, 8, 8), 3, 1),
    "both": World((1, 8, 8), 3, TURNS),
    "both, no channels": World((8, 8), 3, TURNS),
}
