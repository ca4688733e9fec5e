"""The plain loop: one client after the other, one nn.Module, torch.optim.SGD."""

import torch
from contestants.pytorch import Pool, network, scores, train
from contestants.task import Floats, Serve, Task
from torch import Tensor

__all__ = ["PACKAGES", "run"]

PACKAGES = ("torch",)


class PlainLoop:
    """Trains a copy of the global model for each client and averages by examples."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.pool = Pool(task)
        self.module = network(task)
        self.model = _copy(self.module.state_dict())

    def round(self, number: int) -> int:
        """Train the cohort and average."""
        cohort = self.task.cohort(number)
        examples = sum(len(self.task.rows(client)) for client in cohort)
        mean = {name: torch.zeros_like(tensor) for name, tensor in self.model.items()}
        for client in cohort:
            self.module.load_state_dict(self.model)
            train(self.module, self.pool, client)
            share = len(self.task.rows(client)) / examples
            for name, tensor in self.module.state_dict().items():
                mean[name].add_(tensor, alpha=share)
        self.model = mean
        return self.task.steps(number)

    def scores(self, x: Floats) -> Floats:
        """Judge with the global model."""
        self.module.load_state_dict(self.model)
        return scores(self.module, x)


def _copy(state: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in state.items()}


def run(task: Task, serve: Serve) -> None:
    """Take part."""
    serve(PlainLoop(task))
