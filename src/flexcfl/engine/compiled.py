"""The compiled path: stacks of Linear and ReLU layers, one client after the other on each core.

The loops are in ``flexcfl.engine.kernels``. They do not hold the interpreter lock, so threads train
clients in parallel. Clients are not stacked, so one that trains for longer than the others causes
no extra cost.
"""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from torch import nn

from flexcfl.data.images import aligned_empty
from flexcfl.engine import kernels
from flexcfl.engine.example_pool import ExamplePool
from flexcfl.engine.schedule import Schedule
from flexcfl.protocol import Ids, Local, Vector, Vectors

ROWS = 50  # evaluated together, to share the overhead of a forward pass

Numbers: TypeAlias = NDArray[np.float32]
Scratch: TypeAlias = tuple[Numbers, Numbers, Numbers, Numbers, Ids, Ids]


class CompiledPath:
    """Train and evaluate Linear/ReLU models with one compiled call per client."""

    piece = 2048  # rows: calls are cheap, and small pieces keep all cores busy to the end
    block = 256  # rows: their examples stay in a core's cache for the next model

    def __init__(self, layers: Sequence[nn.Linear], pool: ExamplePool) -> None:
        self.pool = pool
        widths = [layers[0].in_features, *(each.out_features for each in layers)]
        self.widths = np.array(widths, dtype=np.int64)
        self._kept: Scratch | None = None

    def train(
        self, starts: Vectors, schedules: Sequence[Schedule], local: Local, updates: Vectors
    ) -> NDArray[np.float64]:
        """Write the updates and return the mean data loss of each client's last epoch."""
        clients = zip(updates, starts, schedules, strict=True)
        losses = [self._client(update, start, each, local) for update, start, each in clients]
        return np.array(losses)

    def measure(
        self, models: Vectors, model_of: Ids, rows: Ids
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the loss of each row under its model, and whether it is classified correctly."""
        x, y, places = self.pool.arrays(rows)
        losses, hits = np.empty(len(rows)), np.empty(len(rows), dtype=np.bool_)
        *room, most, positions = self._scratch(ROWS)  # possibly larger, from training
        given = models, model_of, self.widths, x, y, places
        kernels.evaluate(*given, losses, hits, (*room, most[:ROWS], positions))
        return losses, hits

    def _client(self, update: Vector, start: Vector, schedule: Schedule, local: Local) -> float:
        x, y, rows = self.pool.arrays(schedule.rows)
        steps = rows, schedule.counts, schedule.closing
        how = local.rate, local.l2, local.prox
        scratch = self._scratch(rows.shape[1])
        return float(kernels.train(update, start, self.widths, x, y, *steps, *how, scratch))

    def _scratch(self, rows: int) -> Scratch:
        """Return buffers for at least so many rows; they are reused for the next client."""
        if self._kept is None or len(self._kept[-1]) < rows:
            self._kept = _scratch(self.widths, max(rows, ROWS))
        return self._kept


def _scratch(widths: Ids, rows: int) -> Scratch:
    """Return buffers for a model and for the outputs, errors, losses and places of the rows."""
    full = -(-rows // kernels.TILE) * kernels.TILE
    size = full * int(widths[1:].sum())
    parameters = int((widths[1:] * (widths[:-1] + 1)).sum())
    sizes = (parameters, size, size, full)
    model, outputs, errors, losses = (aligned_empty((each,)) for each in sizes)
    places, positions = np.empty(full, dtype=np.int64), np.arange(full, dtype=np.int64)
    return model, outputs, errors, losses, places, positions
