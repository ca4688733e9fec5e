"""FedLab's serial trainer and server handler for federated averaging.

The parts of a round are those of its StandalonePipeline, with our cohort for its own sample.
"""

import sys
from types import ModuleType

from contestants.pytorch import Pool, network, scores
from contestants.task import Floats, Serve, Task
from torch import Tensor
from torch.utils.data import DataLoader

# FedLab imports torchvision for datasets of its own, which are not used here; the torchvision of
# PyPI is made for CUDA and cannot be imported beside a torch without.
torchvision = ModuleType("torchvision")
vars(torchvision)["transforms"] = ModuleType("torchvision.transforms")
sys.modules["torchvision"] = torchvision

from fedlab.contrib.algorithm.fedavg import (  # noqa: E402
    FedAvgSerialClientTrainer,
    FedAvgServerHandler,
)
from fedlab.contrib.dataset.basic_dataset import BaseDataset, FedDataset  # noqa: E402

__all__ = ["PACKAGES", "run"]

PACKAGES = ("fedlab", "torch")


class Partitioned(FedDataset):
    """The clients' examples, by FedLab's interface."""

    def __init__(self, task: Task) -> None:
        super().__init__()
        self.num = task.clients
        self.pool = Pool(task)

    def get_dataset(self, client: int, kind: str = "train") -> BaseDataset:
        """Return the examples of a client."""
        return BaseDataset(*self.pool.of(client))

    def get_dataloader(
        self, client: int, batch_size: int, kind: str = "train"
    ) -> DataLoader[tuple[Tensor, Tensor]]:
        """Return the batches of a client."""
        return DataLoader(self.get_dataset(client), batch_size=batch_size, shuffle=True)


class FedLab:
    """Clients one after the other; FedLab's handler weighs them alike."""

    def __init__(self, task: Task) -> None:
        self.task = task
        cohort = task.cohorts.shape[1]
        # Half a client more, because FedLab rounds down the product of the ratio and the clients.
        ratio = min(1.0, (cohort + 0.5) / task.clients)
        self.handler = FedAvgServerHandler(network(task), len(task.cohorts), ratio)
        self.handler.num_clients = task.clients
        self.trainer = FedAvgSerialClientTrainer(network(task), task.clients)
        self.trainer.setup_dataset(Partitioned(task))
        self.trainer.setup_optim(task.epochs, task.batch, task.rate)

    def round(self, number: int) -> int:
        """Send the model, train, load what comes back."""
        self.trainer.local_process(self.handler.downlink_package, self.task.cohort(number))
        for package in self.trainer.uplink_package:
            self.handler.load(package)
        return self.task.steps(number)

    def scores(self, x: Floats) -> Floats:
        """Judge with the global model."""
        return scores(self.handler.model, x)


def run(task: Task, serve: Serve) -> None:
    """Take part."""
    serve(FedLab(task))
