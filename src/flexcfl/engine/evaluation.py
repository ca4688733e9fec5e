"""Loss and hits of many clients at once: each model passes over all of its clients' examples."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from flexcfl.data.federation import IndexLists
from flexcfl.engine.pool import Pool
from flexcfl.protocol import Ids

__all__ = ["Batch", "batches", "measure"]

ROWS = 512  # examples in one forward pass: enough to keep a core busy, little memory


@dataclass(frozen=True, eq=False)
class Batch:
    """Pool rows to be looked at by one model, and the position of the client each belongs to."""

    model: int
    rows: Ids
    positions: Ids


def batches(model_of: Ids, examples: IndexLists) -> list[Batch]:
    """Put together the examples of all clients that use the same model."""
    found = []
    for model in np.unique(model_of):
        clients = np.flatnonzero(model_of == model)
        own = [examples[int(client)] for client in clients]
        rows, positions = np.concatenate(own), np.repeat(clients, [len(rows) for rows in own])
        for start in range(0, len(rows), ROWS):
            part = slice(start, start + ROWS)
            found.append(Batch(int(model), rows[part], positions[part]))
    return found


@torch.no_grad()
def measure(
    module: nn.Module, parameters: Mapping[str, Tensor], pool: Pool, rows: Ids
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the loss of each row and whether it was a hit, by a module in eval mode."""
    chosen = torch.from_numpy(rows).to(pool.device)
    labels = pool.labels(chosen)
    logits = functional_call(module, dict(parameters), (pool.inputs(chosen),))
    losses = functional.cross_entropy(logits, labels, reduction="none")
    hits = logits.argmax(dim=1) == labels
    return losses.cpu().double().numpy(), hits.cpu().numpy()
