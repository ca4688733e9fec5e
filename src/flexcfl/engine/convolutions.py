"""Convolutions with hand-written backward passes that train in place; see ``fused_layers``."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from flexcfl.engine.fused_layers import Parameter
from flexcfl.protocol import Local

_aten = torch.ops.aten


class Convolution:
    """``nn.Conv2d`` by torch's own operators, without autograd."""

    def __init__(
        self, layer: nn.Conv2d, weight: Parameter, bias: Parameter, *, lowest: bool
    ) -> None:
        self.weight, self.bias, self.lowest = weight, bias, lowest
        none = (0, 0)
        self.geometry = layer.stride, layer.padding, layer.dilation, False, none, layer.groups

    def forward(self, x: Tensor, masks: Iterator[Tensor]) -> Tensor:
        """Convolve in ``channels_last`` format, which the other layers expect."""
        self.x = x.contiguous(memory_format=torch.channels_last)
        y: Tensor = _aten.convolution(self.x, self.weight.now, self.bias.now, *self.geometry)
        return y.contiguous(memory_format=torch.channels_last)

    def backward(self, error: Tensor, local: Local) -> Tensor:
        """Let torch compute the gradients; that of the inputs only if it is needed."""
        wanted = (not self.lowest, True, True)
        sizes = self.bias.now.shape
        below, weight, bias = _aten.convolution_backward(
            error, self.x, self.weight.now, sizes, *self.geometry, wanted
        )
        self.weight.follow(weight, local)
        self.bias.follow(bias, local)
        return error if self.lowest else below


class SparseConvolution:
    """``nn.Conv2d`` below a max pool: its compiled backward pass skips errors that are zero."""

    def __init__(self, layer: nn.Conv2d, weight: Parameter, bias: Parameter) -> None:
        from flexcfl.engine import winners  # compiles on import, or loads the cache

        self.winners, self.layer, self.weight, self.bias = winners, layer, weight, bias
        self.sides = _sides(layer)
        self.room: tuple[NDArray[np.int64], NDArray[np.float32]] | None = None

    def forward(self, x: Tensor, masks: Iterator[Tensor]) -> Tensor:
        """Convolve in ``channels_last`` format, which the other layers expect."""
        self.x = x.contiguous(memory_format=torch.channels_last)
        y = functional.conv2d(
            self.x, self.weight.now, self.bias.now, self.layer.stride, self.layer.padding
        )
        return y.contiguous(memory_format=torch.channels_last)

    def backward(self, error: Tensor, local: Local) -> Tensor:
        """Add up the contributions of the errors that are not zero."""
        x = functional.pad(self.x.permute(0, 2, 3, 1), [0, 0, *self.sides]).flatten(2)
        x, weight = x.contiguous(), self.weight.now.permute(0, 2, 3, 1).flatten(2).contiguous()
        error = error.permute(0, 2, 3, 1).contiguous()
        below, gradient, bias = (torch.zeros_like(each) for each in (x, weight, self.bias.now))
        (down, right), inputs = self.layer.stride, self.layer.in_channels
        given = [each.numpy() for each in (x, weight, error)]
        results = [each.numpy() for each in (below, gradient, bias)]
        compiled: Any = self.winners.backward
        compiled(*given, down, right * inputs, *results, *self._room(error))
        self.weight.follow(_channels_first(gradient, inputs), local)
        self.bias.follow(bias, local)
        return functional.pad(_channels_first(below, inputs), [-side for side in self.sides])

    def _room(self, error: Tensor) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return buffers for places and factors of all errors, shared by a client's batches."""
        outputs = error.shape[3]
        most = max(error[..., 0].numel(), outputs) + self.winners.TOGETHER - 1
        if self.room is None or self.room[0].shape[1] < most:
            shape = outputs + 1, most
            self.room = np.empty(shape, np.int64), np.empty(shape, np.float32)
        return self.room


class PatchConvolution:
    """A lowest ``nn.Conv2d`` with few input channels, as products with a matrix of patches.

    Torch's own operators are several times slower here, above all for the gradient of the kernels.
    """

    def __init__(self, layer: nn.Conv2d, weight: Parameter, bias: Parameter) -> None:
        self.layer, self.weight, self.bias = layer, weight, bias
        self.sides = _sides(layer)

    def forward(self, x: Tensor, masks: Iterator[Tensor]) -> Tensor:
        """Build the matrix of patches, and multiply it with all kernels at once."""
        patches = self._patches(functional.pad(x, self.sides))
        examples, height, width = patches.shape[3:]
        # The last row is all ones, so that the product also yields the gradient of the bias.
        self.columns = x.new_ones(patches[..., 0, 0, 0].numel() + 1, examples * height * width)
        self.columns[:-1].view(patches.shape).copy_(patches)
        weight = self.weight.now.flatten(1)
        y = torch.addmm(self.bias.now, self.columns[:-1].t(), weight.t())
        return y.view(examples, height, width, -1).permute(0, 3, 1, 2)

    def _patches(self, x: Tensor) -> Tensor:
        """View images as ``(channels, kernel height, width, examples, height, width)``."""
        (down, right), (high, wide) = self.layer.stride, self.layer.kernel_size
        examples, channels, rows, columns = x.shape
        example, channel, row, column = x.stride()
        height, width = (rows - high) // down + 1, (columns - wide) // right + 1
        return x.as_strided(
            (channels, high, wide, examples, height, width),
            (channel, row, column, example, row * down, column * right),
        )

    def backward(self, error: Tensor, local: Local) -> Tensor:
        """Multiply the same patches with the errors."""
        gradient = self.columns @ error.permute(0, 2, 3, 1).flatten(0, 2)
        self.weight.follow(gradient[:-1].t().reshape(self.weight.now.shape), local)
        self.bias.follow(gradient[-1], local)
        return error


def _channels_first(rows: Tensor, channels: int) -> Tensor:
    """View rows of ``width * channels`` numbers as images or kernels in torch's layout."""
    return rows.view(*rows.shape[:2], -1, channels).permute(0, 3, 1, 2)


def _sides(layer: nn.Conv2d) -> list[int]:
    """Return the padding left, right, above and below."""
    height, width = (int(layer.padding[axis]) for axis in range(2))
    return [width, width, height, height]
