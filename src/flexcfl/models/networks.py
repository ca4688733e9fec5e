"""The paper's networks, layer by layer (Section 5.1, Table 2), and one of ours for 8x8 images.

Images are (batch, 1, height, width). "Same" padding follows TensorFlow, with which the published
results were computed (docs/decisions/0005). Initial weights are Glorot-uniform, biases are zero:
Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural networks",
AISTATS 2010.
"""

from collections.abc import Callable
from itertools import pairwise
from math import prod

import numpy as np
import torch
from torch import nn

# Layers whose repr is the call that makes them, with all arguments.
PLAIN = (nn.Conv2d, nn.Dropout, nn.Flatten, nn.Linear, nn.MaxPool2d, nn.ReLU, nn.ZeroPad2d)


def dense(shape: tuple[int, ...], hidden: tuple[int, ...], classes: int) -> nn.Sequential:
    """Return linear layers with ReLU between; without hidden layers, a logistic regression."""
    widths = [prod(shape), *hidden]
    layers: list[nn.Module] = [nn.Flatten()]
    for inputs, outputs in pairwise(widths):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return _glorot(*layers, nn.Linear(widths[-1], classes))


def mnist_cnn(classes: int) -> nn.Sequential:
    """Return two 3x3 convolutions with pooling, dropout, one dense layer; for 28x28 images."""
    images = _two_convolutions(32, 64, kernel=3, size=28)
    return _glorot(*images, nn.Dropout(0.5), nn.Linear(7 * 7 * 64, classes))


def femnist_cnn(classes: int) -> nn.Sequential:
    """Return six convolutions, two with stride 2 instead of pooling; for 28x28 images."""
    return _glorot(
        *_valid(1, 32, kernel=3),
        *_valid(32, 32, kernel=3),
        *_same(32, 32, kernel=5, size=24, stride=2),
        nn.Dropout(0.4),
        *_valid(32, 64, kernel=3),
        *_valid(64, 64, kernel=3),
        *_same(64, 64, kernel=5, size=8, stride=2),
        nn.Dropout(0.4),
        nn.Flatten(),
        nn.Linear(4 * 4 * 64, 128),
        nn.ReLU(),
        nn.Dropout(0.4),
        nn.Linear(128, classes),
    )


def fashion_cnn(classes: int) -> nn.Sequential:
    """Return two 5x5 convolutions with pooling and a wide dense layer; for 28x28 images."""
    images = _two_convolutions(32, 64, kernel=5, size=28)
    return _glorot(*images, nn.Linear(7 * 7 * 64, 1024), nn.ReLU(), nn.Linear(1024, classes))


def digits_cnn(classes: int) -> nn.Sequential:
    """Return two 3x3 convolutions with pooling, one dense layer; ours, for 8x8 images."""
    images = _two_convolutions(16, 32, kernel=3, size=8)
    return _glorot(*images, nn.Linear(2 * 2 * 32, classes))


def same_padding(size: int, kernel: int, stride: int) -> tuple[int, int]:
    """Return TensorFlow's "same" padding of one axis, before and after.

    It gives ceil(size / stride) outputs; an odd cell of padding goes to the end.

    >>> same_padding(24, kernel=5, stride=2)
    (1, 2)
    """
    outputs = -(-size // stride)
    total = max((outputs - 1) * stride + kernel - size, 0)
    return total // 2, total - total // 2


def _glorot(*layers: nn.Module) -> nn.Sequential:
    """Return a sequence of layers with Glorot-uniform weights and zero biases."""
    for layer in layers:
        if isinstance(layer, nn.Linear | nn.Conv2d):
            nn.init.xavier_uniform_(layer.weight)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    return nn.Sequential(*layers)


def _two_convolutions(first: int, second: int, kernel: int, size: int) -> list[nn.Module]:
    """Return two convolutions, each followed by pooling, and a Flatten."""
    ones, others = _same(1, first, kernel, size), _same(first, second, kernel, size // 2)
    return [*ones, nn.MaxPool2d(2), *others, nn.MaxPool2d(2), nn.Flatten()]


def _valid(inputs: int, outputs: int, kernel: int) -> list[nn.Module]:
    return [nn.Conv2d(inputs, outputs, kernel), nn.ReLU()]


def _same(inputs: int, outputs: int, kernel: int, size: int, stride: int = 1) -> list[nn.Module]:
    before, after = same_padding(size, kernel, stride)
    if before == after:
        return [nn.Conv2d(inputs, outputs, kernel, stride, padding=before), nn.ReLU()]
    # nn.Conv2d pads both ends alike, so an uneven padding is a layer of its own.
    pad = nn.ZeroPad2d((before, after, before, after))
    return [pad, nn.Conv2d(inputs, outputs, kernel, stride), nn.ReLU()]


def initialised(factory: Callable[[], nn.Module], rng: np.random.Generator) -> nn.Module:
    """Make a module whose initial weights depend on ``rng`` alone.

    Modules draw their initial weights from torch's global generator. It is seeded for the call and
    restored afterwards, so that other code is not affected.
    """
    seed = int(rng.integers(2**63))
    with torch.random.fork_rng(devices=[]):
        # torch.manual_seed would also seed every GPU, which fork_rng does not restore here.
        torch.default_generator.manual_seed(seed)
        return factory()


def torch_expression(module: nn.Module) -> str | None:
    """Return an expression of ``torch.nn`` that makes a module like this one, or None if unknown.

    >>> print(torch_expression(nn.Sequential(nn.Flatten(), nn.Linear(4, 2))))
    nn.Sequential(
        nn.Flatten(start_dim=1, end_dim=-1),
        nn.Linear(in_features=4, out_features=2, bias=True),
    )
    """
    if type(module) is not nn.Sequential or any(type(each) not in PLAIN for each in module):
        return None
    names = [name for name, _ in module.named_children()]
    if names != [str(number) for number in range(len(names))]:
        return None
    lines = "".join(f"    nn.{_quoted(repr(each))},\n" for each in module)
    return f"nn.Sequential(\n{lines})"


def _quoted(call: str) -> str:
    """Add the quotes around string arguments that torch's ``repr`` leaves out."""
    for name in ("padding", "padding_mode"):
        for word in ("same", "valid", "reflect", "replicate", "circular"):
            call = call.replace(f"{name}={word}", f"{name}={word!r}")
    return call
