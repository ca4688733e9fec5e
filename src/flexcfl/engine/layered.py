"""The path of convolutional models: known layers with hand-written backward passes.

Clients train one at a time, because a client's operators are long enough to keep a core busy. The
gain comes from the rest: no autograd graph, no gradient of the images, no padding of a client's
last batch, one memory format from the first layer to the last.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from flexcfl.engine.compiling import can_compile
from flexcfl.engine.convolutions import Convolution, PatchConvolution, SparseConvolution
from flexcfl.engine.example_pool import ExamplePool
from flexcfl.engine.flat import Layout
from flexcfl.engine.fused_layers import (
    Dense,
    Drop,
    Flat,
    FusedLayer,
    MaxPool,
    Parameter,
    Rectifier,
    Zeros,
    pair,
)
from flexcfl.engine.schedule import Schedule
from flexcfl.models.dropout import Site, masks
from flexcfl.protocol import Local

FEW_CHANNELS = 4  # the most input channels for which ``PatchConvolution`` pays
WINDOW = 4  # the fewest inputs of a max pool per output for which most errors are zero

_WITHOUT_PARAMETERS: Mapping[type[nn.Module], Callable[[Any], FusedLayer]] = {
    nn.MaxPool2d: MaxPool,
    nn.ZeroPad2d: Zeros,
    nn.ReLU: lambda _: Rectifier(),
    nn.Dropout: lambda _: Drop(),
    nn.Dropout2d: lambda _: Drop(),
    nn.Flatten: lambda _: Flat(),
}


@dataclass(frozen=True, eq=False)
class LayeredPath:
    """Train clients one after the other on modules of known layers, without autograd."""

    known: Sequence[nn.Module]
    layout: Layout
    places: Sequence[Site]
    pool: ExamplePool

    def __post_init__(self) -> None:
        nothing = torch.zeros(self.layout.parameters)
        self.layers_on(nothing, nothing)  # compiles now rather than during training

    @cached_property
    def layers(self) -> Sequence[nn.Module]:
        """The layers in the order in which they run."""
        return _ordered(self.known)

    def train(
        self, starts: Tensor, schedules: Sequence[Schedule], local: Local
    ) -> tuple[Tensor, Tensor]:
        """Return the trained models and the mean data loss of each client's last epoch."""
        models = starts.clone(memory_format=torch.contiguous_format)
        losses = [
            self._client(self.layers_on(model, start), schedule, local)
            for model, start, schedule in zip(models, starts, schedules, strict=True)
        ]
        return models, torch.stack(losses)

    def layers_on(self, model: Tensor, start: Tensor) -> list[FusedLayer]:
        """Return layers whose parameters are views of a model, which they train in place."""
        now, received = self.layout.split(model).values(), self.layout.split(start).values()
        parameters = map(Parameter, now, received)
        made: list[FusedLayer] = []
        lowest = True
        for at, layer in enumerate(self.layers):
            if not isinstance(layer, nn.Conv2d | nn.Linear):
                made.append(_WITHOUT_PARAMETERS[type(layer)](layer))
                continue
            own = next(parameters), next(parameters)
            if isinstance(layer, nn.Linear):
                made.append(Dense(*own, lowest=lowest))
            else:
                made.append(_convolution(layer, self.layers[at + 1], *own, lowest=lowest))
            lowest = False
        return made

    def _client(self, layers: Sequence[FusedLayer], schedule: Schedule, local: Local) -> Tensor:
        """Take all steps of a client and return its closing loss."""
        rows = torch.from_numpy(schedule.rows)
        labels = self.pool.labels(rows)
        closing = torch.zeros(())
        upwards = self._from_lowest_trained(layers)
        for step, count in enumerate(schedule.counts.tolist()):
            x = self.pool.inputs(rows[step, :count])
            drawn = iter(masks(self.places, schedule.key, step, count))
            for layer in layers:
                x = layer.forward(x, drawn)
            shares, y = x.log_softmax(1), labels[step, :count]
            if schedule.closing[step]:
                closing += functional.nll_loss(shares, y) * float(schedule.closing[step])
            error = _error(shares, y)
            for layer in reversed(upwards):
                error = layer.backward(error, local)
        return closing

    def _from_lowest_trained(self, layers: Sequence[FusedLayer]) -> Sequence[FusedLayer]:
        """Return the layers from the lowest one with parameters upwards."""
        lowest = next(at for at, layer in enumerate(self.layers) if list(layer.parameters()))
        return layers[lowest:]


def _error(shares: Tensor, y: Tensor) -> Tensor:
    """Return the gradient of the mean cross entropy; the log-probabilities are overwritten."""
    targets = torch.eye(shares.shape[1]).index_select(0, y)
    return shares.exp_().sub_(targets).div_(len(y))


def _convolution(
    layer: nn.Conv2d, above: nn.Module, weight: Parameter, bias: Parameter, *, lowest: bool
) -> FusedLayer:
    """Choose the fastest implementation of a convolution, given the layer above it."""
    plain = layer.groups == 1 and layer.dilation == (1, 1)
    if plain and lowest and layer.in_channels <= FEW_CHANNELS:
        return PatchConvolution(layer, weight, bias)
    if plain and not lowest and _has_sparse_errors(above) and can_compile():
        return SparseConvolution(layer, weight, bias)
    return Convolution(layer, weight, bias, lowest=lowest)


def _has_sparse_errors(layer: nn.Module) -> bool:
    """Whether a layer passes errors to few of its inputs."""
    if not isinstance(layer, nn.MaxPool2d):
        return False
    down, right = pair(layer.stride)
    return down * right >= WINDOW


def _ordered(layers: Sequence[nn.Module]) -> list[nn.Module]:
    """Drop layers without effect, and pool before a ReLU: the same for a quarter of the work."""
    kept = [
        layer for layer in layers if not isinstance(layer, nn.Dropout | nn.Dropout2d) or layer.p > 0
    ]
    for at in range(len(kept) - 1):
        if type(kept[at]) is nn.ReLU and type(kept[at + 1]) is nn.MaxPool2d:
            kept[at], kept[at + 1] = kept[at + 1], kept[at]
    return kept
