"""Conversion between the flat float32 vectors of algorithms and a module's named parameters."""

from collections.abc import Mapping
from math import prod

import torch
from torch import Tensor, nn


class Layout:
    """The order, names and shapes of a module's parameters inside a flat vector.

    ``matrices`` names the parameters with an L2 penalty.
    """

    def __init__(self, module: nn.Module) -> None:
        self.shapes = {name: tuple(p.shape) for name, p in module.named_parameters()}
        self.lengths = [prod(shape) for shape in self.shapes.values()]
        self.parameters = sum(self.lengths)
        self.matrices = {name for name, shape in self.shapes.items() if len(shape) == 2}

    def split(self, vectors: Tensor) -> dict[str, Tensor]:
        """View vectors of shape ``(..., parameters)`` as named tensors ``(..., *shape)``."""
        parts = torch.split(vectors, self.lengths, dim=-1)
        return {
            name: part.reshape(*part.shape[:-1], *shape)
            for (name, shape), part in zip(self.shapes.items(), parts, strict=True)
        }

    def join(self, named: Mapping[str, Tensor]) -> Tensor:
        """Copy named tensors with leading dimensions into flat vectors: the inverse of split."""
        parts = []
        for name, shape in self.shapes.items():
            tensor = named[name]
            lead = tensor.shape[: tensor.dim() - len(shape)]
            parts.append(tensor.reshape(*lead, -1))
        return torch.cat(parts, dim=-1)

    def vector(self, module: nn.Module) -> Tensor:
        """Copy a module's parameters into one vector."""
        return self.join({name: p.detach() for name, p in module.named_parameters()})
