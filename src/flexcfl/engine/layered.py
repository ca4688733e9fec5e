"""The path of convolutional models: known layers, differentiated by hand, one client at a time.

A client's operators are long enough to keep a core busy, so that nothing is gained by clients side
by side. What is gained is everything around them: no graph, no gradient of the images, no padding
of a client's last batch, one memory format from the first layer to the last.
"""

import importlib.util
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from flexcfl.engine.convolutions import Columns, Convolution, Won
from flexcfl.engine.flat import Layout
from flexcfl.engine.layers import (
    Dense,
    Drop,
    Flat,
    Layer,
    Parameter,
    Pool,
    Rectifier,
    Zeros,
    pair,
)
from flexcfl.engine.pool import Pool as Examples
from flexcfl.engine.schedule import Schedule
from flexcfl.models.dropout import Site, masks
from flexcfl.protocol import Local

__all__ = ["LayeredPath", "known_layers"]

FEW_CHANNELS = 4  # patches of a convolution's inputs are worth writing down up to here
WINDOW = 4  # inputs of a max pool per output, from which on most of their errors are zero

_WITHOUT_PARAMETERS: Mapping[type[nn.Module], Callable[[Any], Layer]] = {
    nn.MaxPool2d: Pool,
    nn.ZeroPad2d: Zeros,
    nn.ReLU: lambda _: Rectifier(),
    nn.Dropout: lambda _: Drop(),
    nn.Dropout2d: lambda _: Drop(),
    nn.Flatten: lambda _: Flat(),
}
_OF_IMAGES = {nn.Conv2d, nn.MaxPool2d, nn.ZeroPad2d, nn.ReLU, nn.Dropout, nn.Dropout2d}
_OF_VECTORS = {nn.Linear, nn.ReLU, nn.Dropout}


def known_layers(module: nn.Module) -> list[nn.Module] | None:
    """Return the layers of a plain convolutional model, or None for any other module.

    These are convolutions, paddings, max pools, ReLUs and dropouts, a Flatten, then Linear layers,
    ReLUs and dropouts; a Linear comes last.
    """
    layers = list(_leaves(module))
    flat = next((at for at, layer in enumerate(layers) if type(layer) is nn.Flatten), 0)
    images, vectors = layers[:flat], layers[flat + 1 :]
    known = (
        {type(layer) for layer in images} <= _OF_IMAGES
        and {type(layer) for layer in vectors} <= _OF_VECTORS
        and any(type(layer) is nn.Conv2d for layer in images)
        and type(layers[-1]) is nn.Linear
        and all(_plain(layer) for layer in layers)
    )
    owned = [parameter for layer in layers for parameter in layer.parameters()]
    alone = len(owned) == len(list(module.parameters()))  # none tied, none beside them
    hooked = any(m._forward_hooks or m._forward_pre_hooks for m in module.modules())
    return _ordered(layers) if known and alone and not hooked else None


def _leaves(module: nn.Module) -> Iterator[nn.Module]:
    if type(module) is nn.Sequential:
        for child in module:
            yield from _leaves(child)
    else:
        yield module


def _plain(layer: nn.Module) -> bool:
    """Whether a layer has no option that its counterpart here lacks."""
    match layer:
        case nn.Conv2d():
            padded = layer.padding_mode == "zeros" and not isinstance(layer.padding, str)
            return padded and layer.bias is not None
        case nn.Linear():
            return layer.bias is not None
        case nn.MaxPool2d():
            return not layer.return_indices
        case nn.Flatten():
            return (layer.start_dim, layer.end_dim) == (1, -1)
    return True


def _ordered(layers: list[nn.Module]) -> list[nn.Module]:
    """Leave out what does nothing, and pool before a ReLU: the same with a quarter of the work."""
    kept = [
        layer for layer in layers if not isinstance(layer, nn.Dropout | nn.Dropout2d) or layer.p > 0
    ]
    for at in range(len(kept) - 1):
        if type(kept[at]) is nn.ReLU and type(kept[at + 1]) is nn.MaxPool2d:
            kept[at], kept[at + 1] = kept[at + 1], kept[at]
    return kept


@dataclass(frozen=True, eq=False)
class LayeredPath:
    """Train clients one after the other on modules of known layers, without autograd."""

    layers: Sequence[nn.Module]
    layout: Layout
    places: Sequence[Site]
    pool: Examples

    def train(
        self, starts: Tensor, schedules: Sequence[Schedule], local: Local
    ) -> tuple[Tensor, Tensor]:
        """Return the trained models and the mean data loss of each client's last epoch."""
        models = starts.clone(memory_format=torch.contiguous_format)
        losses = [
            self._client(self._made(model, start), schedule, local)
            for model, start, schedule in zip(models, starts, schedules, strict=True)
        ]
        return models, torch.stack(losses)

    def _made(self, model: Tensor, start: Tensor) -> list[Layer]:
        """Put the layers onto a model, which they are going to train in place."""
        now, received = self.layout.split(model).values(), self.layout.split(start).values()
        parameters = map(Parameter, now, received)
        made: list[Layer] = []
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

    def _client(self, layers: Sequence[Layer], schedule: Schedule, local: Local) -> Tensor:
        """Take all steps of a client and return its closing loss."""
        rows = torch.from_numpy(schedule.rows)
        labels = self.pool.labels(rows)
        closing = torch.zeros(())
        upwards = self._trained_upwards(layers)
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

    def _trained_upwards(self, layers: Sequence[Layer]) -> Sequence[Layer]:
        """Leave out the layers below the lowest one that has parameters."""
        lowest = next(at for at, layer in enumerate(self.layers) if list(layer.parameters()))
        return layers[lowest:]


def _error(shares: Tensor, y: Tensor) -> Tensor:
    """Return the gradient of the mean cross entropy, overwriting the logarithms of the shares."""
    targets = torch.eye(shares.shape[1]).index_select(0, y)
    return shares.exp_().sub_(targets).div_(len(y))


def _convolution(
    layer: nn.Conv2d, above: nn.Module, weight: Parameter, bias: Parameter, *, lowest: bool
) -> Layer:
    """Choose the fastest way of a convolution, given the layer above it."""
    plain = layer.groups == 1 and layer.dilation == (1, 1)
    if plain and lowest and layer.in_channels <= FEW_CHANNELS:
        return Columns(layer, weight, bias)
    if plain and not lowest and _thins(above) and importlib.util.find_spec("numba"):
        return Won(layer, weight, bias)
    return Convolution(layer, weight, bias, lowest=lowest)


def _thins(layer: nn.Module) -> bool:
    """Whether a layer hands errors to few of its inputs."""
    if not isinstance(layer, nn.MaxPool2d):
        return False
    down, right = pair(layer.stride)
    return down * right >= WINDOW
