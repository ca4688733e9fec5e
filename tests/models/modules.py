"""Modules that can be trained as many copies at once, and modules that cannot."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

CLASSES = 3


class Classifier(nn.Module):
    """A linear layer after any step, a module or a function, that keeps the shape."""

    def __init__(self, step: Callable[[Tensor], Tensor] | nn.Module) -> None:
        super().__init__()
        self.step = step
        self.head = nn.Linear(24, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        outputs: Tensor = self.head(self.step(x).flatten(1))
        return outputs


class Applied(nn.Module):
    """A function as a layer."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


class Recurrent(nn.Module):
    def __init__(self, layer: nn.RNNBase) -> None:
        super().__init__()
        self.layer = layer
        self.head = nn.Linear(layer.hidden_size, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        states, _ = self.layer(x)
        outputs: Tensor = self.head(states[:, -1])
        return outputs


class ResidualBlock(nn.Module):
    """A block of a residual network, with groups normalised in place of batches."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(1, 8, 3, padding=1)
        self.norm = nn.GroupNorm(2, 8)
        self.second = nn.Conv2d(8, 8, 3, padding=1)
        self.shortcut = nn.Conv2d(1, 8, 1)
        self.head = nn.Linear(8, 10)

    def forward(self, x: Tensor) -> Tensor:
        inner = self.second(functional.relu(self.norm(self.first(x))))
        outputs: Tensor = self.head(functional.relu(inner + self.shortcut(x)).mean((2, 3)))
        return outputs


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(6, 6)
        self.second = nn.Linear(6, 6)
        self.second.weight = self.first.weight
        self.head = nn.Linear(6, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        outputs: Tensor = self.head(self.second(functional.relu(self.first(x))).mean(1))
        return outputs


class CalledTwice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 6)
        self.head = nn.Linear(6, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        outputs: Tensor = self.head(self.layer(self.layer(x)).mean(1))
        return outputs


class Tokens(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(2, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        outputs: Tensor = self.embedding(x.flatten(1).long()).mean(1)
        return outputs


class Centred(nn.Module):
    """Keeps a mean of what it saw; no layer that torch knows."""

    mean: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(6), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            self.mean = 0.9 * self.mean + 0.1 * x.detach().mean((0, 1))
        return x - self.mean


class Renormalised(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            self.weight.div_(2)
        return super().forward(x)


class Masked(nn.Module):
    mask: Tensor
    order: Tensor
    chosen: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mask", torch.tensor([0.0, 0.0, *[-torch.inf] * 4]))
        self.register_buffer("order", torch.arange(5, -1, -1))
        self.register_buffer("chosen", torch.tensor([True, False] * 3))

    def forward(self, x: Tensor) -> Tensor:
        return (x + self.mask).softmax(-1)[..., self.order] * self.chosen


class Hidden(nn.Module):
    """Reaches one parameter through a list, behind torch's back."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(6, 6)
        self.matrices = [self.linear.weight]

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.matrices[0].T


class Twins(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(24, CLASSES)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        outputs: Tensor = self.head(x.flatten(1))
        return outputs, outputs


class NotCopied(nn.Module):
    """Keeps the result of a computation, which torch refuses to copy."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(6, 6)
        self.doubled = self.linear.weight * 2

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.doubled


def frozen() -> nn.Module:
    module = Classifier(nn.Linear(6, 6))
    for parameter in module.head.parameters():
        parameter.requires_grad = False
    return module


def same_layer_twice() -> nn.Module:
    layer = nn.Linear(6, 6)
    return Classifier(nn.Sequential(layer, nn.ReLU(), layer))


def same_activation_twice() -> nn.Module:
    relu = nn.ReLU()
    return Classifier(nn.Sequential(nn.Linear(6, 6), relu, nn.Linear(6, 6), relu))


def attention(dropout: float, inside: float) -> nn.Module:
    layer = nn.TransformerEncoderLayer(6, 2, 12, dropout=dropout, batch_first=True)
    layer.self_attn.dropout = inside
    return Classifier(layer)


def written_outside(x: Tensor, memory: Tensor = torch.zeros(6)) -> Tensor:  # noqa: B008 - the point
    return memory.add_(x.mean((0, 1))) + x


def with_buffer(buffer: Tensor) -> nn.Module:
    module = Classifier(nn.ReLU())
    module.register_buffer("extra", buffer)
    return module
