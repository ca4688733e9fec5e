"""The three networks as torch modules, and what the contestants that use torch have in common."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import torch
from contestants.task import Floats, Task
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["Pool", "network", "scores", "train"]


def network(task: Task) -> nn.Sequential:
    """Make the network of a work and load the first model into it."""
    module = _NETWORKS[task.work]()
    module.load_state_dict({name: torch.from_numpy(a) for name, a in task.initial.items()})
    return module


def _mclr() -> nn.Sequential:
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 10))


def _mlp() -> nn.Sequential:
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))


def _cnn() -> nn.Sequential:
    return nn.Sequential(
        *(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Dropout(0.5), nn.Linear(7 * 7 * 64, 10)),
    )


_NETWORKS = {"mclr": _mclr, "mlp": _mlp, "cnn": _cnn}


@dataclass(frozen=True, eq=False)
class Pool:
    """The examples of all clients as tensors."""

    task: Task

    @cached_property
    def x(self) -> Tensor:
        """All inputs."""
        return torch.from_numpy(self.task.x)

    @cached_property
    def y(self) -> Tensor:
        """All labels."""
        return torch.from_numpy(self.task.y)

    def of(self, client: int) -> tuple[Tensor, Tensor]:
        """Return a copy of a client's training examples."""
        rows = torch.from_numpy(self.task.rows(client))
        return self.x[rows], self.y[rows]


def _batches(task: Task, client: int) -> Iterator[Tensor]:
    rows = torch.from_numpy(task.rows(client))
    for _ in range(task.epochs):
        order = rows[torch.randperm(len(rows))]
        for start in range(0, len(rows), task.batch):
            yield order[start : start + task.batch]


def train(module: nn.Module, pool: Pool, client: int) -> None:
    """Train the module on a client's examples, as a PyTorch tutorial would."""
    module.train()
    optimizer = torch.optim.SGD(module.parameters(), lr=pool.task.rate)
    for rows in _batches(pool.task, client):
        optimizer.zero_grad()
        functional.cross_entropy(module(pool.x[rows]), pool.y[rows]).backward()  # type: ignore[no-untyped-call]
        optimizer.step()


@torch.no_grad()
def scores(module: nn.Module, x: Floats) -> Floats:
    """Return what a module says of some examples."""
    module.eval()
    said: Floats = module(torch.from_numpy(x)).numpy()
    return said
