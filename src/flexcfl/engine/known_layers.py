"""Modules that are a plain sequence of layers for which the engine has its own implementation."""

from collections.abc import Iterator
from itertools import pairwise

from torch import nn

from flexcfl.models.trials import hooked

_OF_IMAGES = {nn.Conv2d, nn.MaxPool2d, nn.ZeroPad2d, nn.ReLU, nn.Dropout, nn.Dropout2d}
_OF_VECTORS = {nn.Linear, nn.ReLU, nn.Dropout}


def linear_layers(module: nn.Module) -> list[nn.Linear] | None:
    """Return the layers of Flatten, Linear, ReLU, ..., Linear, or None for any other module."""
    found = list(_leaves(module))
    if found and type(found[0]) is nn.Flatten:
        found = found[1:]
    linear, between = found[::2], found[1::2]
    layers = [layer for layer in linear if type(layer) is nn.Linear]
    known = (
        len(layers) == len(linear) == len(between) + 1
        and all(type(layer) is nn.ReLU for layer in between)
        and all(a.out_features == b.in_features for a, b in pairwise(layers))
        and _nothing_else(module)
    )
    return layers if known else None


def convolutional_layers(module: nn.Module) -> list[nn.Module] | None:
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
        and _nothing_else(module)
    )
    return layers if known else None


def _leaves(module: nn.Module) -> Iterator[nn.Module]:
    if type(module) is nn.Sequential:
        for child in module:
            yield from _leaves(child)
    else:
        yield module


def _nothing_else(module: nn.Module) -> bool:
    """Whether no layer has unusual options, shares parameters with another, or has a hook."""
    leaves = list(_leaves(module))
    owned = [parameter for layer in leaves for parameter in layer.parameters()]
    alone = len(owned) == len(list(module.parameters()))
    return alone and not hooked(module) and all(_plain(layer) for layer in leaves)


def _plain(layer: nn.Module) -> bool:
    """Whether the engine's implementation of a layer supports its options."""
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
