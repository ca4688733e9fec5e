"""pfl-research's FederatedAveraging on its SimulatedBackend, one process, a PyTorchModel.

Its in-memory datasets keep the order of a client's batches from epoch to epoch.
"""

from collections.abc import Iterator
from typing import Any

import torch
from contestants.pytorch import Pool, network, scores
from contestants.task import Floats, Serve, Task
from pfl.aggregate.simulate import SimulatedBackend
from pfl.aggregate.weighting import WeightByDatapoints
from pfl.algorithm.base import NNAlgorithmParams
from pfl.algorithm.federated_averaging import FederatedAveraging
from pfl.data.federated_dataset import FederatedDataset
from pfl.data.pytorch import PyTorchTensorDataset
from pfl.hyperparam.base import NNTrainHyperParams
from pfl.metrics import Weighted
from pfl.model.pytorch import PyTorchModel
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["PACKAGES", "run"]

PACKAGES = ("pfl", "torch")


class Network(nn.Module):
    """The network with its loss, by pfl's interface."""

    def __init__(self, task: Task) -> None:
        super().__init__()
        self.layers = network(task)

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        """Return what a step descends."""
        self.train()
        return functional.cross_entropy(self.layers(x), y)

    @torch.no_grad()
    def metrics(self, x: Tensor, y: Tensor) -> dict[str, Any]:
        """Return what pfl would report if it were asked to evaluate."""
        self.eval()
        loss = functional.cross_entropy(self.layers(x), y, reduction="sum")
        return {"loss": Weighted(loss.item(), len(y))}


class Pfl:
    """Clients one after the other, weighed by their examples."""

    def __init__(self, task: Task) -> None:
        self.task = task
        pool = Pool(task)
        self.network = Network(task)
        central = torch.optim.SGD(self.network.parameters(), lr=1.0)
        self.model = PyTorchModel(self.network, torch.optim.SGD, central)
        self.following: Iterator[int] = iter(())
        clients = FederatedDataset(
            lambda client: PyTorchTensorDataset(pool.of(client), user_id=str(client)),
            lambda: next(self.following),
        )
        self.backend = SimulatedBackend(clients, clients, [WeightByDatapoints()])
        self.algorithm = FederatedAveraging()
        self.local = NNTrainHyperParams(
            local_batch_size=task.batch,
            local_num_epochs=task.epochs,
            local_learning_rate=task.rate,
        )
        self.done = 0

    def round(self, number: int) -> int:
        """Let the algorithm run on for one central iteration."""
        self.following = iter(self.task.cohort(number))
        self.done += 1
        settings = NNAlgorithmParams(
            central_num_iterations=self.done,
            evaluation_frequency=10**9,
            train_cohort_size=self.task.cohorts.shape[1],
            val_cohort_size=0,
        )
        self.model = self.algorithm.run(settings, self.backend, self.model, self.local)
        return self.task.steps(number)

    def scores(self, x: Floats) -> Floats:
        """Judge with the global model."""
        return scores(self.network.layers, x)


def run(task: Task, serve: Serve) -> None:
    """Take part."""
    serve(Pfl(task))
