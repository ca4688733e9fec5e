"""Convolutional models trained layer by layer, without autograd: the plain loop is the judge."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from flexcfl.data.client_lists import IndexLists
from flexcfl.engine import Engine, PathName
from flexcfl.engine.known_layers import convolutional_layers
from flexcfl.engine.layered import LayeredPath
from flexcfl.engine.paths import OnDevice
from flexcfl.engine.schedule import draw_batches
from flexcfl.errors import ModelError
from flexcfl.models.networks import digits_cnn, fashion_cnn, femnist_cnn, mnist_cnn
from flexcfl.protocol import Local
from tests.engine.worlds import SIZES, WORLDS

CLASSES, POOL = 4, 200
CLIENTS = (1, 9, 10, 11, 57, 24)
PENALISED = Local(epochs=2, rate=0.05, l2=0.01, prox=0.7)
Trained = tuple[NDArray[np.float32], NDArray[np.float64]]


def pooled() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 6, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.5),
        nn.Linear(24, CLASSES),
    )


def strided() -> nn.Module:
    return nn.Sequential(
        nn.Sequential(nn.ZeroPad2d((1, 2, 0, 1)), nn.Conv2d(1, 6, (3, 2), stride=(1, 2))),
        nn.ReLU(inplace=True),
        nn.Dropout2d(0.3),
        nn.ZeroPad2d((0, 1, 1, 2)),
        nn.Conv2d(6, 8, 3, stride=2, padding=(1, 0)),
        nn.Dropout(0.0),
        nn.Flatten(),
        nn.Linear(5 * 2 * 8, 9),
        nn.ReLU(),
        nn.Dropout(0.2),
        nn.Linear(9, CLASSES),
    )


def overlapping() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 6, 3, dilation=2),
        nn.MaxPool2d(3, stride=1, padding=1),
        nn.Conv2d(6, 6, 3, padding=2, groups=3),
        nn.ReLU(),
        nn.MaxPool2d(2, ceil_mode=True),
        nn.Flatten(),
        nn.Linear(54, CLASSES),
    )


def rectangular() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 5, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(5, 7, (2, 3), stride=(3, 2), padding=(2, 1)),
        nn.MaxPool2d((3, 2)),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(14, CLASSES),
    )


def upright() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 5, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(5, 7, (3, 1)),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(84, CLASSES),
    )


def coloured(channels: int) -> Callable[[], nn.Module]:
    return lambda: nn.Sequential(
        nn.MaxPool2d(2),
        nn.Conv2d(channels, 5, 3, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(80, CLASSES),
    )


MODULES: dict[str, tuple[Callable[[], nn.Module], int]] = {
    "pooled": (pooled, 1),
    "strided": (strided, 1),
    "overlapping": (overlapping, 1),
    "upright": (upright, 1),
    "rectangular": (rectangular, 1),
    "three channels": (coloured(3), 3),
    "many channels": (coloured(6), 6),
}


def made(module: str, path: PathName) -> Engine:
    factory, channels = MODULES[module]
    rng = np.random.default_rng(1)
    x = rng.normal(size=(POOL, channels, 8, 8)).astype(np.float32)
    x[:, :, :3] = 0  # a plain background, on which all positions of a pool are equal
    return Engine(factory, x, rng.integers(CLASSES, size=POOL), CLASSES, path=path)


def train(engine: Engine, local: Local) -> Trained:
    rng = np.random.default_rng(2)
    examples = IndexLists.of([rng.choice(POOL, size, replace=False) for size in CLIENTS])
    models = np.stack([engine.initial(np.random.default_rng(seed)) for seed in range(2)])
    rngs = [np.random.default_rng(100 + client) for client in range(len(CLIENTS))]
    return engine.train(models, np.arange(len(CLIENTS)) % 2, examples, local, rngs)


@pytest.mark.parametrize(
    "local",
    [Local(epochs=2, rate=0.05), Local(steps=7, batch=16, rate=0.05), PENALISED],
    ids=["epochs", "steps", "penalties"],
)
@pytest.mark.parametrize("module", MODULES)
def test_it_equals_the_plain_loop(module: str, local: Local) -> None:
    expected, expected_loss = train(made(module, "reference"), local)
    updates, loss = train(made(module, "layered"), local)
    assert np.abs(expected).max(axis=1).min() > 1e-3
    np.testing.assert_allclose(updates, expected, atol=1e-5)
    np.testing.assert_allclose(loss, expected_loss, atol=1e-5)


def kinds(engine: Engine) -> list[str]:
    start = torch.zeros(engine.parameters)
    with engine.paths.borrowed() as path:
        assert isinstance(path, OnDevice)
        assert isinstance(path.inner, LayeredPath)
        return [type(layer).__name__ for layer in path.inner.layers_on(start, start)]


@pytest.mark.parametrize("module", ["pooled", "rectangular"])
def test_it_needs_no_compiler(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with_numba, _ = train(made(module, "layered"), PENALISED)
    assert "SparseConvolution" in kinds(made(module, "layered"))
    monkeypatch.setattr("flexcfl.engine.layered.can_compile", lambda: False)
    without, _ = train(made(module, "layered"), PENALISED)
    assert "SparseConvolution" not in kinds(made(module, "layered"))
    np.testing.assert_allclose(without, with_numba, atol=1e-5)


@pytest.mark.parametrize("module", MODULES)
def test_no_bit_depends_on_the_number_of_threads(module: str) -> None:
    before = torch.get_num_threads()
    results = []
    try:
        for threads in (1, 3, 1):
            torch.set_num_threads(threads)
            results.append(train(made(module, "layered"), PENALISED)[0].tobytes())
    finally:
        torch.set_num_threads(before)
    assert len(set(results)) == 1


@pytest.mark.parametrize("world", [world for world in WORLDS if len(WORLDS[world].shape) == 3])
def test_variants_are_trained_as_if_they_were_the_pool(world: str) -> None:
    seen = WORLDS[world]

    def factory() -> nn.Module:
        channels = seen.shape[0]
        return nn.Sequential(
            nn.Conv2d(channels, 5, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(320, 4)
        )

    def trained(engine: Engine, examples: list[NDArray[np.int64]]) -> NDArray[np.float32]:
        model = engine.initial(np.random.default_rng(0))[None]
        rngs = [np.random.default_rng(client) for client in range(len(SIZES))]
        nobody = np.zeros(len(SIZES), np.int64)
        return engine.train(model, nobody, IndexLists.of(examples), PENALISED, rngs)[0]

    varied, plain, _ = seen.engines(factory, "layered")
    updates = trained(varied, seen.rows)
    np.testing.assert_array_equal(updates, trained(plain, seen.made_rows))


def changed(at: int, layer: nn.Module) -> nn.Module:
    layers = list(pooled().children())
    layers[at] = layer
    return nn.Sequential(*layers)


def test_plain_convolutional_models_are_recognised_and_nothing_else() -> None:
    tied = pooled()
    tied.append(nn.ReLU()).append(nn.Linear(4, 4)).append(nn.ReLU()).append(nn.Linear(4, 4))
    assert convolutional_layers(tied) is not None
    tied[10].weight = tied[12].weight
    extended, hooked = pooled(), pooled()
    extended.extra = nn.Parameter(torch.zeros(3))
    hooked[3].register_forward_hook(lambda *_: None)
    others = [
        tied,
        extended,
        hooked,
        nn.Sequential(pooled(), nn.Softmax(1)),
        nn.Sequential(nn.Flatten(), nn.Linear(64, CLASSES)),
        nn.Linear(64, CLASSES),
        nn.Sequential(*list(pooled().children())[:-2]),
        changed(0, nn.Conv2d(1, 8, 3, padding="same")),
        changed(0, nn.Conv2d(1, 8, 3, padding=1, padding_mode="circular")),
        changed(0, nn.Conv2d(1, 8, 3, padding=1, bias=False)),
        changed(1, nn.Tanh()),
        changed(2, nn.AvgPool2d(2)),
        changed(2, nn.Linear(8, 8)),
        changed(6, nn.Flatten(0)),
        changed(7, nn.Dropout2d(0.5)),
        changed(8, nn.Linear(24, CLASSES, bias=False)),
    ]
    assert [convolutional_layers(other) for other in others] == [None] * len(others)
    for factory, _ in MODULES.values():
        assert convolutional_layers(factory()) is not None


def test_other_modules_are_refused() -> None:
    x, y = np.zeros((POOL, 1, 8, 8), np.float32), np.zeros(POOL, np.int64)
    with pytest.raises(ModelError, match="convolutional"):
        Engine(lambda: changed(1, nn.Tanh()), x, y, CLASSES, path="layered")


def large(network: Callable[[int], nn.Module], path: PathName | None = None) -> Engine:
    x, y = np.ones((20, 1, 28, 28), np.float32), np.zeros(20, np.int64)
    return Engine(lambda: network(10), x, y, 10, path=path)


def test_it_is_chosen_where_clients_side_by_side_share_little() -> None:
    assert [large(each).path for each in (mnist_cnn, femnist_cnn, fashion_cnn)] == ["layered"] * 3
    x, y = np.ones((20, 1, 8, 8), np.float32), np.zeros(20, np.int64)
    assert Engine(lambda: digits_cnn(10), x, y, 10).path == "stacked"


class Watch(TorchDispatchMode):
    """Counts operators that are not views, and the shapes of their results."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.operators = 0
        self.shapes: Counter[tuple[int, ...]] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if not func.is_view:
            self.operators += 1
            results = out if isinstance(out, tuple) else (out,)
            self.shapes.update(tuple(each.shape) for each in results if isinstance(each, Tensor))
        return out


def watched(network: Callable[[int], nn.Module], path: PathName, steps: int) -> Watch:
    engine, local = large(network, path), Local(steps=steps)
    schedule = draw_batches(np.arange(20), local, np.random.default_rng(0))
    start = engine.initial(np.random.default_rng(0))[None]
    watch = Watch()
    with engine.paths.borrowed() as trained_by, watch:
        trained_by.train(start, [schedule], local, np.empty_like(start))
    return watch


@pytest.mark.parametrize(("network", "most"), [(mnist_cnn, 50), (fashion_cnn, 80)])
def test_a_step_launches_few_operators(network: Callable[[int], nn.Module], most: int) -> None:
    few, many = (watched(network, "layered", steps).operators for steps in (3, 5))
    assert 20 < (many - few) / 2 <= most


def test_the_gradient_of_a_large_matrix_is_never_written_down() -> None:
    matrix = (1024, 7 * 7 * 64)
    assert watched(fashion_cnn, "reference", 3).shapes[matrix] >= 3
    assert watched(fashion_cnn, "layered", 3).shapes[matrix] == 0
