"""The dense path: stacks of Linear and ReLU layers with a hand-written backward pass.

The computation of one client's step costs less than launching its operators, and most of its time
goes into moving the weights. So all clients of a stack share each operator, and gradient, decay and
update of a weight matrix are a single in-place batched product.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from flexcfl.engine.example_pool import ExamplePool
from flexcfl.engine.schedule import Block, Schedule, step_blocks
from flexcfl.protocol import Local

POSITIONS = 4096  # examples for which targets and logits are allocated at once
GATHERED = 320  # examples gathered at once: about a megabyte of MNIST images


@dataclass(frozen=True, eq=False)
class _Layer:
    """One layer of all clients: weights ``(clients, out, in)`` and biases ``(clients, 1, out)``."""

    weight: Tensor
    bias: Tensor

    def of(self, clients: int) -> "_Layer":
        return _Layer(self.weight[:clients], self.bias[:clients])


class DensePath:
    """Train a stack of clients at once on Linear/ReLU models, without autograd."""

    def __init__(self, layers: Sequence[nn.Linear], pool: ExamplePool) -> None:
        self.sizes = [(layer.out_features, layer.in_features) for layer in layers]
        self.pool = pool

    def train(
        self, starts: Tensor, schedules: Sequence[Schedule], local: Local
    ) -> tuple[Tensor, Tensor]:
        """Return the trained models and the mean data loss of each client's last epoch."""
        layers = self._layers(starts)
        received = self._layers(starts) if local.prox else []
        losses = torch.zeros(len(starts), device=starts.device)
        for block in step_blocks(schedules, POSITIONS):
            now = [layer.of(block.clients) for layer in layers]
            origin = [layer.of(block.clients) for layer in received]
            losses[: block.clients] += self._block(now, origin, block, local)
        parts = [part.flatten(1) for layer in layers for part in (layer.weight, layer.bias)]
        return torch.cat(parts, dim=1), losses

    def _layers(self, vectors: Tensor) -> list[_Layer]:
        """Copy flat vectors into contiguous layers."""
        layers, start = [], 0
        for rows, columns in self.sizes:
            weight = vectors[:, start : start + rows * columns].reshape(-1, rows, columns)
            start += rows * columns
            bias = vectors[:, start : start + rows].reshape(-1, 1, rows)
            start += rows
            # Slices of a single client are contiguous views, so a copy must be forced.
            copied = (part.clone(memory_format=torch.contiguous_format) for part in (weight, bias))
            layers.append(_Layer(*copied))
        return layers

    def _block(
        self, layers: list[_Layer], received: list[_Layer], block: Block, local: Local
    ) -> Tensor:
        """Take the block's steps in place and return each client's share of its closing loss."""
        rows, weights, closing = (
            torch.from_numpy(part).to(self.pool.device)
            for part in (block.rows, block.weights, block.closing)
        )
        y, scale = self.pool.labels(rows), weights.unsqueeze(-1)
        targets = functional.one_hot(y, self.sizes[-1][0]) * -scale
        logits = torch.empty_like(targets)
        ones = scale.new_ones(block.clients, 1, rows.shape[2])
        at_once = max(1, GATHERED // rows[0].numel())
        for step in range(len(rows)):
            if step % at_once == 0:
                part = rows[step : step + at_once]
                x = self.pool.inputs(part).flatten(part.dim())
            inputs = self._forward(layers, x[step % at_once], logits[step])
            errors = torch.addcmul(targets[step], logits[step].softmax(-1), scale[step])
            self._backward(layers, received, inputs, errors, ones, local)
        losses = functional.cross_entropy(logits.flatten(0, 2), y.flatten(), reduction="none")
        return (losses.view(y.shape) * weights * closing.unsqueeze(-1)).sum((0, 2))

    @staticmethod
    def _forward(layers: list[_Layer], x: Tensor, logits: Tensor) -> list[Tensor]:
        """Write the logits and return the input of every layer."""
        inputs = [x]
        for layer in layers[:-1]:
            inputs.append(torch.baddbmm(layer.bias, inputs[-1], layer.weight.mT).relu_())
        torch.baddbmm(layers[-1].bias, inputs[-1], layers[-1].weight.mT, out=logits)
        return inputs

    @staticmethod
    def _backward(
        layers: list[_Layer],
        received: list[_Layer],
        inputs: list[Tensor],
        errors: Tensor,
        ones: Tensor,
        local: Local,
    ) -> None:
        """Update every layer in place, last to first, from the errors at the logits."""
        keep_bias = 1 - local.rate * local.prox
        keep_weight = keep_bias - 2 * local.rate * local.l2
        for index in reversed(range(len(layers))):
            layer = layers[index]
            # The error of the layer below needs this layer's weights from before the update.
            below = torch.bmm(errors, layer.weight) if index else errors
            layer.weight.baddbmm_(errors.mT, inputs[index], beta=keep_weight, alpha=-local.rate)
            layer.bias.baddbmm_(ones, errors, beta=keep_bias, alpha=-local.rate)
            if received:
                layer.weight.add_(received[index].weight, alpha=local.rate * local.prox)
                layer.bias.add_(received[index].bias, alpha=local.rate * local.prox)
            if index:
                errors = torch.ops.aten.threshold_backward(below, inputs[index], 0)
