"""Flower's simulation: a FedAvg strategy, and client apps on Ray, one of one thread for each core.

The server app lives as long as the simulation and starts the strategy for one round at a time.
"""

import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import torch
from contestants.pytorch import Pool, network, scores, train
from contestants.task import Floats, Serve, Task
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg
from flwr.simulation import run_simulation

__all__ = ["PACKAGES", "run"]

PACKAGES = ("flwr", "ray", "torch")

client_app = ClientApp()


@cache
def _pool(path: str, work: str) -> Pool:
    """Read the federation once in every process of Ray."""
    torch.set_num_threads(1)
    return Pool(Task.read(Path(path), work))


@client_app.train()
def _train(message: Message, context: Context) -> Message:
    config = message.content.config_records["config"]
    pool = _pool(str(config["file"]), str(config["work"]))
    client = config["client"]
    assert isinstance(client, int)
    module = network(pool.task)
    module.load_state_dict(message.content.array_records["arrays"].to_torch_state_dict())
    train(module, pool, client)
    metrics = MetricRecord({"num-examples": len(pool.task.rows(client))})
    reply = RecordDict({"arrays": ArrayRecord(module.state_dict()), "metrics": metrics})
    return Message(content=reply, reply_to=message)


class Cohort(FedAvg):
    """FedAvg, whose messages say which client of the federation a node stands for."""

    def __init__(self, task: Task) -> None:
        super().__init__(fraction_evaluate=0.0)
        self.task = task
        self.clients: list[int] = []

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Send the model to as many nodes as the cohort has clients."""
        origin = {"file": str(self.task.path), "work": self.task.work}
        return [
            Message(
                content=RecordDict(
                    {"arrays": arrays, "config": ConfigRecord({**origin, "client": client})}
                ),
                message_type="train",
                dst_node_id=node,
            )
            for node, client in zip(sorted(grid.get_node_ids()), self.clients, strict=False)
        ]


class Flower:
    """Clients spread over the cores, weighed by their examples."""

    def __init__(self, task: Task, grid: Grid) -> None:
        self.task = task
        self.grid = grid
        self.module = network(task)
        self.strategy = Cohort(task)
        self.arrays = ArrayRecord(self.module.state_dict())

    def round(self, number: int) -> int:
        """Start the strategy for one round."""
        self.strategy.clients = self.task.cohort(number)
        result = self.strategy.start(self.grid, self.arrays, num_rounds=1)
        if not result.arrays:
            raise RuntimeError("no client app has answered")
        self.arrays = result.arrays
        return self.task.steps(number)

    def scores(self, x: Floats) -> Floats:
        """Judge with the global model."""
        self.module.load_state_dict(self.arrays.to_torch_state_dict())
        return scores(self.module, x)


def run(task: Task, serve: Serve) -> None:
    """Take part, from within the simulation."""
    server_app = ServerApp()

    @server_app.main()
    def main(grid: Grid, context: Context) -> None:
        serve(Flower(task, grid))

    resources: dict[str, Any] = {"num_cpus": 1, "num_gpus": 0.0}
    init: dict[str, Any] = {"num_cpus": os.cpu_count() or 1, "include_dashboard": False}
    if len(str(task.path.parent)) < 40:  # the names of Ray's sockets may not become too long
        init["_temp_dir"] = str(task.path.parent / "ray")
    run_simulation(
        server_app,
        client_app,
        num_supernodes=task.clients,
        backend_config={"client_resources": resources, "init_args": init},
    )
