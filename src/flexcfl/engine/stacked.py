"""The general path: copies of any module trained together with ``torch.func.vmap``."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad_and_value, vmap
from torch.nn import functional

from flexcfl.engine.example_pool import ExamplePool
from flexcfl.engine.flat import Layout
from flexcfl.engine.schedule import Block, Schedule, step_blocks
from flexcfl.models.dropout import Site, masked, masks
from flexcfl.protocol import Local

POSITIONS = 4096  # examples for which rows and weights are allocated at once


@dataclass(frozen=True, eq=False)
class StackedPath:
    """Train a stack of clients at once, each with its own copy of the parameters."""

    module: nn.Module
    layout: Layout
    places: Sequence[Site]
    pool: ExamplePool
    channels_last: bool = False

    def train(
        self, starts: Tensor, schedules: Sequence[Schedule], local: Local
    ) -> tuple[Tensor, Tensor]:
        """Return the trained models and the mean data loss of each client's last epoch."""
        received = self.layout.split(starts)
        models = {name: self._copied(values) for name, values in received.items()}
        losses = torch.zeros(len(starts), device=starts.device)
        for block in step_blocks(schedules, POSITIONS):
            active = {name: values[: block.clients] for name, values in models.items()}
            origin = {name: values[: block.clients] for name, values in received.items()}
            keys = [schedule.key for schedule in schedules[: block.clients]]
            losses[: block.clients] += self._block(active, origin, block, keys, local)
        return self.layout.join(models), losses

    def _block(
        self,
        models: dict[str, Tensor],
        received: dict[str, Tensor],
        block: Block,
        keys: Sequence[int],
        local: Local,
    ) -> Tensor:
        """Take the block's steps in place and return each client's share of its closing loss."""
        rows, weights, closing = (
            torch.from_numpy(part).to(self.pool.device)
            for part in (block.rows, block.weights, block.closing)
        )
        y = self.pool.labels(rows)
        total = torch.zeros(block.clients, device=rows.device)
        for step in range(len(rows)):
            drawn = self._masks(keys, block.start + step, rows.shape[2])
            x = self.pool.inputs(rows[step])
            gradients, loss = self._gradients(models, x, y[step], weights[step], drawn)
            self._update(models, gradients, received, local)
            total += loss * closing[step]
        return total

    def _gradients(
        self,
        models: dict[str, Tensor],
        x: Tensor,
        y: Tensor,
        weights: Tensor,
        drawn: Sequence[Tensor],
    ) -> tuple[dict[str, Tensor], Tensor]:
        """Return the gradients and the losses of all clients of a stack."""
        step = grad_and_value(self._loss)
        if len(x) > 1:
            gradients, losses = vmap(step)(models, x, y, weights, drawn)
            return gradients, losses
        # A single client runs without vmap, whose rules for convolutions would cost time.
        model = {name: values[0] for name, values in models.items()}
        gradients, loss = step(model, x[0], y[0], weights[0], [mask[0] for mask in drawn])
        return {name: gradient[None] for name, gradient in gradients.items()}, loss[None]

    def _loss(
        self,
        parameters: dict[str, Tensor],
        x: Tensor,
        y: Tensor,
        weights: Tensor,
        drawn: Sequence[Tensor],
    ) -> Tensor:
        with masked(self.places, drawn):
            logits = functional_call(self.module, parameters, (x,))
        return functional.cross_entropy(logits, y, reduction="none") @ weights

    def _masks(self, keys: Sequence[int], step: int, width: int) -> list[Tensor]:
        drawn = [masks(self.places, key, step, width) for key in keys]
        return [torch.stack(site).to(self.pool.device) for site in zip(*drawn, strict=True)]

    def _update(
        self,
        models: dict[str, Tensor],
        gradients: dict[str, Tensor],
        received: dict[str, Tensor],
        local: Local,
    ) -> None:
        """Take one step of SGD on data loss, L2 term and proximal term."""
        for name, values in models.items():
            decay = 2 * local.l2 if name in self.layout.matrices else 0.0
            shrink = local.rate * (decay + local.prox)
            if shrink:
                values.mul_(1 - shrink)
            if local.prox:
                values.add_(received[name], alpha=local.rate * local.prox)
            values.sub_(gradients[name], alpha=local.rate)

    def _copied(self, values: Tensor) -> Tensor:
        """Copy one parameter of all clients of a stack.

        The kernels of a single client may be stored in ``channels_last`` format: convolutions and
        pools then run in that format, which is faster on a CPU.
        """
        if len(values) > 1 or values.dim() != 5 or not self.channels_last:
            return values.clone(memory_format=torch.contiguous_format)
        return torch.empty_like(values[0], memory_format=torch.channels_last).copy_(values[0])[None]
