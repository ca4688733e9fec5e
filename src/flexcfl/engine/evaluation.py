"""Loss and hits of many clients at once: each model passes over all of its clients' examples."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.func import functional_call
from torch.nn import functional

from flexcfl.data.client_lists import IndexLists
from flexcfl.engine.example_pool import ExamplePool
from flexcfl.engine.flat import Layout
from flexcfl.engine.workers import ResourcePool, run_in_threads
from flexcfl.protocol import Ids, Vector, Vectors


class Meter(Protocol):
    """One way of evaluating models on rows of the pool."""

    @property
    def piece(self) -> int:
        """The preferred number of rows of one call."""
        ...

    @property
    def block(self) -> int:
        """The number of rows that all models evaluate before the next rows follow."""
        ...

    def measure(
        self, models: Vectors, model_of: Ids, rows: Ids
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the loss of each row under its model, and whether it was a hit."""
        ...


def evaluate_models(
    models: Vectors, model_of: Ids, examples: IndexLists, meters: ResourcePool[Meter]
) -> tuple[NDArray[np.float64], Ids]:
    """Return, for each client, the sum of its losses and its number of hits under its model."""
    with meters.borrowed() as meter:
        piece, block = meter.piece, meter.block
    # Ordered by block, and within a block by model.
    order = np.argsort(examples.offsets[:-1] // block * len(models) + model_of, kind="stable")
    ordered = examples.gathered(order)
    rows, clients = ordered.indices, np.repeat(order, ordered.sizes)
    parts = [slice(start, start + piece) for start in range(0, len(rows), piece)]

    def measure(meter: Meter, part: slice) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        return meter.measure(models, model_of[clients[part]], rows[part])

    measured = run_in_threads(measure, parts, meters)
    loss = np.concatenate([np.empty(0), *(loss for loss, _ in measured)])
    hits = np.concatenate([np.empty(0, np.bool_), *(hit for _, hit in measured)])
    return (
        np.bincount(clients, loss, minlength=len(examples)).astype(np.float64),
        np.bincount(clients[hits], minlength=len(examples)).astype(np.int64),
    )


@dataclass(frozen=True, eq=False)
class ModuleMeter:
    """Evaluate by calling a module, which must be in eval mode."""

    module: nn.Module
    layout: Layout
    pool: ExamplePool
    piece: int = 512  # enough to keep a core busy with little memory
    block: int = 2**62  # one model after the other

    def measure(
        self, models: Vectors, model_of: Ids, rows: Ids
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the loss of each row under its model, and whether it was a hit."""
        losses, hits = np.empty(len(rows)), np.empty(len(rows), dtype=np.bool_)
        for model in np.unique(model_of):
            own = np.flatnonzero(model_of == model)
            losses[own], hits[own] = self._measure(models[model], rows[own])
        return losses, hits

    @torch.no_grad()
    def _measure(self, vector: Vector, rows: Ids) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        chosen = torch.from_numpy(rows).to(self.pool.device)
        labels = self.pool.labels(chosen)
        # A copy, because torch does not accept read-only arrays.
        parameters = self.layout.split(torch.from_numpy(vector.copy()).to(self.pool.device))
        logits = functional_call(self.module, parameters, (self.pool.inputs(chosen),))
        losses = functional.cross_entropy(logits, labels, reduction="none")
        hits = logits.argmax(dim=1) == labels
        return losses.cpu().double().numpy(), hits.cpu().numpy()
