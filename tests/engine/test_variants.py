"""Rows beyond the pool are trained and evaluated as if a pool with their examples had been made."""

import numpy as np
import pytest
from numpy.typing import NDArray

from flexcfl.data.client_lists import IndexLists
from flexcfl.engine import Engine, PathName
from flexcfl.protocol import Local
from tests.engine.cohorts import MODULES
from tests.engine.worlds import SIZES, WORLDS

LOCAL = Local(epochs=2, rate=0.05, l2=0.01, prox=0.3)
PATHS: dict[PathName, list[str]] = {
    "reference": list(MODULES),
    "stacked": list(MODULES),
    "dense": ["logistic regression", "perceptron"],
}
CHANNELS = {"convolutional", "viewing"}
SEEN = [
    (module, world)
    for module in MODULES
    for world in WORLDS
    if len(WORLDS[world].shape) == 3 or module not in CHANNELS
]
TRAINED = [
    (module, world, path)
    for module, world in SEEN
    for path, modules in PATHS.items()
    if module in modules
]


def train(
    engine: Engine, examples: list[NDArray[np.int64]]
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    models = np.stack([engine.initial(np.random.default_rng(seed)) for seed in range(2)])
    rngs = [np.random.default_rng(100 + client) for client in range(len(SIZES))]
    return engine.train(models, np.arange(len(SIZES)) % 2, IndexLists.of(examples), LOCAL, rngs)


def evaluate(
    engine: Engine, examples: list[NDArray[np.int64]]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    models = np.stack([engine.initial(np.random.default_rng(seed)) for seed in range(2)])
    return engine.evaluate(models, np.arange(len(SIZES)) % 2, IndexLists.of(examples))


@pytest.mark.slow
@pytest.mark.parametrize(("module", "world", "path"), TRAINED)
def test_variants_are_trained_as_if_they_were_the_pool(
    module: str, world: str, path: PathName
) -> None:
    seen = WORLDS[world]
    varied, made, plain = seen.engines(MODULES[module], path)
    updates, loss = train(varied, seen.rows)
    expected, expected_loss = train(made, seen.made_rows)
    np.testing.assert_array_equal(updates, expected)
    np.testing.assert_array_equal(loss, expected_loss)
    assert np.abs(updates - train(plain, seen.pool_rows)[0]).max() > 1e-4


@pytest.mark.parametrize(("module", "world"), SEEN)
def test_variants_are_evaluated_as_if_they_were_the_pool(module: str, world: str) -> None:
    seen = WORLDS[world]
    varied, made, plain = seen.engines(MODULES[module])
    loss, hits = evaluate(varied, seen.rows)
    expected, expected_hits = evaluate(made, seen.made_rows)
    np.testing.assert_array_equal(loss, expected)
    np.testing.assert_array_equal(hits, expected_hits)
    assert np.abs(loss - evaluate(plain, seen.pool_rows)[0]).max() > 1e-3


def test_where_nobody_sees_a_variant_nothing_changes(module: str) -> None:
    seen = WORLDS["both"]
    varied, _, plain = seen.engines(MODULES[module])
    for one, other in zip(
        [*train(varied, seen.pool_rows), *evaluate(varied, seen.pool_rows)],
        [*train(plain, seen.pool_rows), *evaluate(plain, seen.pool_rows)],
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)
