"""``noise``: attackers send Gaussian noise in place of what they have learnt.

Blanchard, El Mhamdi, Guerraoui, Stainer: Machine Learning with Adversaries: Byzantine Tolerant
Gradient Descent. NeurIPS 2017.
"""

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from pydantic.dataclasses import dataclass as settings

from flexcfl import seeds
from flexcfl.aggregation import norms
from flexcfl.protocol import Trained, TrainingOrder, Vectors
from flexcfl.trust.faults.attack import FORBID, Attackers, Scale

__all__ = ["Noise"]


@settings(frozen=True, config=FORBID)
class Noise(Attackers):
    """Attackers send noise about ``scale`` times as long as their update, and otherwise unlike it.

    Its length goes by that of the update, so that one setting fits all models and rates.
    """

    poisons: ClassVar[bool] = False
    scale: Scale = 10.0

    def altered(self, order: Any, reply: Any, number: int, seed: int) -> Any:
        """Put noise in the place of updates."""
        if not order.brings_updates:
            return reply
        return replace(reply, updates=self._noise(order, reply, number, seed))

    def _noise(self, order: TrainingOrder[Any], reply: Trained, number: int, seed: int) -> Vectors:
        updates = np.empty_like(reply.updates)
        deviations = self.scale * norms(reply.updates) / np.sqrt(updates.shape[1])
        for row, own in enumerate(order.draws(reply.clients)):
            rng = seeds.generator(seed, f"noise {order.purpose}", number, *own)
            rng.standard_normal(out=updates[row], dtype=np.float32)
        with np.errstate(over="ignore", invalid="ignore"):  # of updates that are not finite
            updates *= deviations[:, np.newaxis].astype(np.float32)
        return updates
