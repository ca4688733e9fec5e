"""Layers of convolutional models whose backward pass includes the step of SGD.

Images stay in torch's ``channels_last`` format, in which pooling on a CPU is many times as fast.
The parameters of a layer are views of one client's flat model: the backward pass takes the step of
SGD in place, and large gradients are never stored.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional

from flexcfl.protocol import Local

BLOCK_BYTES = 2**20  # the part of a matrix that stays in a core's cache between two products

_aten = torch.ops.aten


class FusedLayer(Protocol):
    """One layer of one client, which remembers what its backward pass needs."""

    def forward(self, x: Tensor, masks: Iterator[Tensor]) -> Tensor:
        """Return the outputs of a mini-batch; dropout takes its mask from ``masks``."""
        ...

    def backward(self, error: Tensor, local: Local) -> Tensor:
        """Take one step of SGD, given the error of the outputs, and return that of the inputs.

        The return value of the lowest layer with parameters is not used and has no meaning.
        """
        ...


@dataclass(frozen=True, eq=False)
class Parameter:
    """One parameter: its current value, changed in place, and the received one."""

    now: Tensor
    received: Tensor

    def follow(self, gradient: Tensor, local: Local) -> None:
        """Take one step of SGD on data loss and proximal term."""
        if local.prox:
            self.now.lerp_(self.received, local.rate * local.prox)
        self.now.sub_(gradient, alpha=local.rate)


class Dense:
    """``nn.Linear``: gradient, decay and update of the matrix are one product in place."""

    def __init__(self, weight: Parameter, bias: Parameter, *, lowest: bool) -> None:
        self.weight, self.bias, self.lowest = weight, bias, lowest
        rows, columns = weight.now.shape
        size = max(1, BLOCK_BYTES // (4 * columns))
        self.blocks = [slice(start, start + size) for start in range(0, rows, size)]

    def forward(self, x: Tensor, masks: Iterator[Tensor]) -> Tensor:
        """Return ``x W' + b``."""
        self.x = x
        return torch.addmm(self.bias.now, x, self.weight.now.t())

    def backward(self, error: Tensor, local: Local) -> Tensor:
        """Compute both products for one block of rows at a time, while it is in the cache."""
        below = torch.zeros_like(self.x)
        pull = local.rate * local.prox
        keep = 1 - pull - 2 * local.rate * local.l2
        for block in self.blocks:
            weight, own = self.weight.now[block], error[:, block]
            if not self.lowest:
                below.addmm_(own, weight)
            weight.addmm_(own.t(), self.x, beta=keep, alpha=-local.rate)
            if pull:
                weight.add_(self.weight.received[block], alpha=pull)
        self.bias.follow(error.sum(0), local)
        return below


class MaxPool:
    """``nn.MaxPool2d``."""

    def __init__(self, layer: nn.MaxPool2d) -> None:
        stride = layer.kernel_size if layer.stride is None else layer.stride
        pairs = [pair(size) for size in (layer.kernel_size, stride, layer.padding, layer.dilation)]
        self.geometry = *pairs, layer.ceil_mode

    def forward(self, x: Tensor, masks: Iterator[Tensor]) -> Tensor:
        """Remember the position of each maximum."""
        self.x = x
        y: Tensor
        y, self.winners = _aten.max_pool2d_with_indices(x, *self.geometry)
        return y

    def backward(self, error: Tensor, local: Local) -> Tensor:
        """Pass each error to the position of its maximum."""
        below: Tensor = _aten.max_pool2d_with_indices_backward(
            error, self.x, *self.geometry, self.winners
        )
        return below


def pair(size: int | Sequence[int]) -> tuple[int, int]:
    """Return height and width, given both or one number for both."""
    return (size, size) if isinstance(size, int) else (size[0], size[1])


class Rectifier:
    """``nn.ReLU``, in place."""

    def forward(self, x: Tensor, masks: Iterator[Tensor]) -> Tensor:
        """Overwrite the outputs of the layer below, which does not need them."""
        self.y = x.relu_()
        return self.y

    def backward(self, error: Tensor, local: Local) -> Tensor:
        """Set errors to zero where the output was zero."""
        below: Tensor = _aten.threshold_backward(error, self.y, 0)
        return below


class Drop:
    """``nn.Dropout`` or ``nn.Dropout2d``, with masks drawn for client and step."""

    def forward(self, x: Tensor, masks: Iterator[Tensor]) -> Tensor:
        """Apply the next mask."""
        self.mask = next(masks)
        return x * self.mask

    def backward(self, error: Tensor, local: Local) -> Tensor:
        """Apply the same mask."""
        return error * self.mask


class Flat:
    """``nn.Flatten``."""

    def forward(self, x: Tensor, masks: Iterator[Tensor]) -> Tensor:
        """Flatten examples channel by channel, in the order of the columns of the matrix above."""
        self.shape = x.shape
        return x.flatten(1)

    def backward(self, error: Tensor, local: Local) -> Tensor:
        """Restore the shape of the images."""
        return error.view(self.shape).contiguous(memory_format=torch.channels_last)


class Zeros:
    """``nn.ZeroPad2d``."""

    def __init__(self, layer: nn.ZeroPad2d) -> None:
        self.padding = list(layer.padding)

    def forward(self, x: Tensor, masks: Iterator[Tensor]) -> Tensor:
        """Pad each side by its own width."""
        return functional.pad(x, self.padding)

    def backward(self, error: Tensor, local: Local) -> Tensor:
        """Cut off the padding."""
        return functional.pad(error, [-side for side in self.padding])
