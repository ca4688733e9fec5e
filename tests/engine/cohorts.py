"""Small random pools, modules of every kind, and cohorts of ragged clients."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from flexcfl.data.client_lists import IndexLists
from flexcfl.engine import Engine, PathName
from flexcfl.protocol import Local

SHAPE, CLASSES, POOL = (1, 8, 8), 4, 300


class Recurrent(nn.Module):
    """Reads an image row by row."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = nn.GRU(8, 12, batch_first=True)
        self.out = nn.Linear(12, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.out(self.rows(x.squeeze(1))[0][:, -1])
        return logits


class Viewing(nn.Module):
    """Two convolutions, then ``view``, which takes one memory format only."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(1, 4, 3, padding=1)
        self.second = nn.Conv2d(4, 6, 3, padding=1)
        self.out = nn.Linear(6 * 16, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        x = functional.max_pool2d(functional.relu(self.first(x)), 2)
        x = functional.relu(self.second(x))
        logits: Tensor = self.out(x.view(x.size(0), -1))
        return logits


def logistic_regression() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(64, CLASSES))


def perceptron() -> nn.Module:
    return nn.Sequential(
        nn.Flatten(), nn.Linear(64, 17), nn.ReLU(), nn.Linear(17, 9), nn.ReLU(), nn.Linear(9, 4)
    )


def convolutional() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 6, 3, padding=1),
        nn.GroupNorm(2, 6),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Dropout2d(0.3),
        nn.Flatten(),
        nn.Dropout(0.5),
        nn.Linear(96, CLASSES),
    )


MODULES: dict[str, Callable[[], nn.Module]] = {
    "logistic regression": logistic_regression,
    "perceptron": perceptron,
    "convolutional": convolutional,
    "viewing": Viewing,
    "recurrent": Recurrent,
}


@dataclass(frozen=True)
class Cohort:
    """Clients of given sizes on one random pool, each starting from one of three models."""

    sizes: tuple[int, ...]

    def engine(self, module: str, path: PathName | None = None) -> Engine:
        rng = np.random.default_rng(1)
        x = rng.normal(size=(POOL, *SHAPE)).astype(np.float32)
        y = rng.integers(CLASSES, size=POOL)
        return Engine(MODULES[module], x, y, CLASSES, path=path)

    def examples(self) -> IndexLists:
        rng = np.random.default_rng(2)
        return IndexLists.of(rng.choice(POOL, size, replace=False) for size in self.sizes)

    def train(
        self, engine: Engine, local: Local, order: list[int] | None = None
    ) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        order = list(range(len(self.sizes))) if order is None else order
        models = np.stack([engine.initial(np.random.default_rng(seed)) for seed in range(3)])
        return engine.train(
            models,
            np.array([client % 3 for client in order], dtype=np.int64),
            self.examples().gathered(np.array(order, dtype=np.int64)),
            local,
            [np.random.default_rng(100 + client) for client in order],
        )
