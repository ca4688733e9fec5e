"""BlazeFL's serial trainer and server handler for federated averaging."""

from blazefl.contrib.fedavg import FedAvgBaseClientTrainer, FedAvgBaseServerHandler
from contestants.pytorch import Pool, network, scores
from contestants.task import Floats, Serve, Task
from torch import Generator, Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

__all__ = ["PACKAGES", "run"]

PACKAGES = ("blazefl", "torch")


class Selector:
    """Makes the network, by BlazeFL's interface."""

    def __init__(self, task: Task) -> None:
        self.task = task

    def select_model(self, name: str) -> nn.Module:
        """Return the network of the work."""
        return network(self.task)


class Partitioned:
    """The clients' examples, by BlazeFL's interface."""

    def __init__(self, task: Task) -> None:
        self.pool = Pool(task)

    def get_dataloader(
        self, type_: str, cid: int, batch_size: int, generator: Generator | None = None
    ) -> DataLoader[tuple[Tensor, ...]]:
        """Return the batches of a client."""
        examples = TensorDataset(*self.pool.of(cid))
        return DataLoader(examples, batch_size, shuffle=True, generator=generator)


class BlazeFL:
    """Clients one after the other, weighed by their examples."""

    def __init__(self, task: Task) -> None:
        self.task = task
        common = (Selector(task), task.work, Partitioned(task))
        # Half a client more, because BlazeFL rounds down the product of the ratio and the clients.
        ratio = min(1.0, (task.cohorts.shape[1] + 0.5) / task.clients)
        self.handler = FedAvgBaseServerHandler(
            *common, len(task.cohorts), task.clients, ratio, "cpu", task.batch, seed=0
        )
        self.trainer = FedAvgBaseClientTrainer(
            *common, "cpu", task.clients, task.epochs, task.batch, task.rate, seed=0
        )

    def round(self, number: int) -> int:
        """Send the model, train, load what comes back."""
        self.trainer.local_process(self.handler.downlink_package(), self.task.cohort(number))
        for package in self.trainer.uplink_package():
            self.handler.load(package)
        return self.task.steps(number)

    def scores(self, x: Floats) -> Floats:
        """Judge with the global model."""
        return scores(self.handler.model, x)


def run(task: Task, serve: Serve) -> None:
    """Take part."""
    serve(BlazeFL(task))
