"""First weights: Glorot-uniform matrices and zero biases, drawn from a generator of one's own.

Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural networks",
AISTATS 2010; the paper's networks start this way.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import nn

__all__ = ["glorot", "initialised"]


def glorot(module: nn.Sequential) -> nn.Sequential:
    """Draw all weights Glorot-uniform, set all biases to zero, and return the module."""
    for layer in module:
        if isinstance(layer, nn.Linear | nn.Conv2d):
            nn.init.xavier_uniform_(layer.weight)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    return module


def initialised(factory: Callable[[], nn.Module], rng: np.random.Generator) -> nn.Module:
    """Make a module whose torch draws come from ``rng`` alone.

    Modules draw their first weights from torch's global generator; it is seeded for the call and
    then put back, so that making a model disturbs nobody else.
    """
    seed = int(rng.integers(2**63))
    with torch.random.fork_rng(devices=[]):
        # torch.manual_seed would also seed every GPU, which fork_rng here does not put back.
        torch.default_generator.manual_seed(seed)
        return factory()
