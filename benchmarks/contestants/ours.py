"""flexcfl's engine, on all cores."""

from functools import partial

import numpy as np
import torch
from contestants.pytorch import network
from contestants.task import Floats, Serve, Task

from flexcfl.data import IndexLists
from flexcfl.data.images import aligned_empty
from flexcfl.engine import Engine
from flexcfl.protocol import Local
from flexcfl.seeds import generator

__all__ = ["PACKAGES", "run"]

PACKAGES = ("flexcfl", "torch")


class Ours:
    """Trains the cohort at once and averages by examples."""

    def __init__(self, task: Task) -> None:
        self.task = task
        x = aligned_empty(task.x.shape)  # as flexcfl's own loaders make it
        x[:] = task.x
        self.engine = Engine(partial(network, task), x, task.y, int(task.y.max()) + 1)
        self.model = self.engine.initial(generator(0, "initial"))
        self.local = Local(epochs=task.epochs, batch=task.batch, rate=task.rate)
        self.model_of = np.zeros(task.cohorts.shape[1], dtype=np.int64)

    def round(self, number: int) -> int:
        """Train the cohort and average."""
        cohort = self.task.cohort(number)
        examples = IndexLists.of([self.task.rows(client) for client in cohort])
        rngs = [generator(0, "train", number, client) for client in cohort]
        updates, _ = self.engine.train(self.model[None], self.model_of, examples, self.local, rngs)
        shares = (examples.sizes / examples.sizes.sum()).astype(np.float32)
        self.model = self.model + shares @ updates
        return self.task.steps(number)

    def scores(self, x: Floats) -> Floats:
        """Judge with the global model."""
        with torch.no_grad():
            said: Floats = self.engine.module(self.model)(torch.from_numpy(x)).numpy()
        return said


def run(task: Task, serve: Serve) -> None:
    """Take part."""
    serve(Ours(task))
