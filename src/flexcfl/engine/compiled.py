"""The compiled path: stacks of Linear and ReLU layers, one client after the other on each core.

``flexcfl.engine.kernels`` has the loops. They need no interpreter, so that threads train clients
side by side, and no stacking, so that a client that trains for longer than the others costs no
more for being alone.
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from flexcfl.engine import kernels
from flexcfl.engine.pool import Pool
from flexcfl.engine.schedule import Schedule
from flexcfl.protocol import Ids, Local, Vector, Vectors

__all__ = ["CompiledPath"]


class CompiledPath:
    """Train and evaluate Linear/ReLU models with one compiled call per client."""

    piece = 2048  # rows: a call costs little, and a few of them keep all cores busy to the end
    block = 256  # rows: their examples stay in a core's cache for the next model

    def __init__(self, layers: Sequence[nn.Linear], pool: Pool) -> None:
        self.pool = pool
        self.widths = np.array([layers[0].in_features, *(each.out_features for each in layers)])
        self._scratch = _scratch(self.widths, kernels.TILE)

    def train(
        self, starts: Tensor, schedules: Sequence[Schedule], local: Local
    ) -> tuple[Tensor, Tensor]:
        """Return the trained models and the mean data loss of each client's last epoch."""
        trained = torch.empty_like(starts)
        clients = zip(trained.numpy(), starts.numpy(), schedules, strict=True)
        losses = [self._client(vector, start, each, local) for vector, start, each in clients]
        return trained, torch.from_numpy(np.array(losses))

    def measure(
        self, models: Vectors, model_of: Ids, rows: Ids
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the loss of each row under its model, and whether it was a hit."""
        x, y, places = self.pool.arrays(rows)
        # What is compiled takes arrays that may be written to, though it only reads these.
        models = np.require(models, np.float32, ["C", "W"])
        losses, hits = np.empty(len(rows)), np.empty(len(rows), dtype=np.bool_)
        given = models, model_of, self.widths, x, y, places
        kernels.evaluate(*given, losses, hits, self._scratch)
        return losses, hits

    def _client(self, vector: Vector, start: Vector, schedule: Schedule, local: Local) -> float:
        x, y, rows = self.pool.arrays(schedule.rows)
        scratch = _scratch(self.widths, rows.shape[1])
        steps = rows, schedule.counts, schedule.closing
        how = local.rate, local.l2, local.prox
        return float(kernels.train(vector, start, self.widths, x, y, *steps, *how, scratch))


def _scratch(widths: Ids, rows: int) -> tuple[NDArray[np.float32], NDArray[np.float32], Ids, Ids]:
    """Return room for the outputs and errors of all layers, and for places of so many rows."""
    full = -(-rows // kernels.TILE) * kernels.TILE
    size = full * int(widths[1:].sum())
    numbers = np.zeros((2, size), dtype=np.float32)
    return numbers[0], numbers[1], np.empty(full, dtype=np.int64), np.arange(full)
