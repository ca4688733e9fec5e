"""Dropout whose masks depend only on the client, the step and the position in the network.

Torch draws masks from one global stream, so that they depend on which clients are trained together.
Here a mode intercepts the dropout functions and multiplies by masks drawn from a generator keyed by
(client, step, n-th dropout of the forward pass): every path of the engine uses the same masks.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from flexcfl.errors import ModelError

LEVELS = 2**16  # masks are drawn as 16-bit integers: four from one draw of the generator
PROBE = 7  # a batch size that is unlikely to be mistaken for another dimension


@dataclass(frozen=True)
class Site:
    """One call of a dropout function: its probability and its mask's shape for one example."""

    probability: float
    shape: tuple[int, ...]


OF_CHANNELS = {functional.dropout1d, functional.dropout2d, functional.dropout3d}
DROPOUTS = {functional.dropout, *OF_CHANNELS}
REFUSED = {functional.alpha_dropout, functional.feature_alpha_dropout}


def masks(places: Sequence[Site], key: int, step: int, examples: int) -> list[Tensor]:
    """Draw one client's masks of one step, scaled so that they keep the mean.

    The first rows do not depend on the number of examples, so that padding changes nothing.
    """
    return [_mask(site, key, step, ordinal, examples) for ordinal, site in enumerate(places)]


def _mask(site: Site, key: int, step: int, ordinal: int, examples: int) -> Tensor:
    shape = (examples, *site.shape)
    numbers = int(np.prod(shape))
    bits = np.random.Philox(key=key, counter=[0, 0, ordinal, step])
    raw = bits.random_raw(-(-numbers // 4)).view(np.uint16)[:numbers]
    keep = raw >= round(site.probability * LEVELS)
    scale = 1 / (1 - site.probability) if site.probability < 1 else 0.0
    return torch.from_numpy(np.multiply(keep, np.float32(scale)).reshape(shape))


class DropoutMode(TorchFunctionMode):
    """Hand every active dropout call to ``drop``; leave all other functions alone."""

    def __init__(self, drop: Callable[[Tensor, Site], Tensor]) -> None:
        super().__init__()
        self.drop = drop

    def __torch_function__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Intercept one call of a torch function."""
        kwargs = kwargs or {}
        if func in REFUSED:
            raise ModelError(
                f"{func.__name__} cannot be seeded for every client: use nn.Dropout instead."
            )
        if func not in DROPOUTS:
            return func(*args, **kwargs)
        tensor, probability, training, inplace = _arguments(*args, **kwargs)
        if not training or probability == 0:
            return tensor
        shape = tuple(tensor.shape[1:])
        if func in OF_CHANNELS:
            shape = (shape[0], *(1 for _ in shape[1:]))
        dropped = self.drop(tensor, Site(probability, shape))
        return tensor.copy_(dropped) if inplace else dropped


def _arguments(
    input: Tensor,  # noqa: A002 - torch's own name, it may come as a keyword
    p: float = 0.5,
    training: bool = True,
    inplace: bool = False,
) -> tuple[Tensor, float, bool, bool]:
    return input, p, training, inplace


def undropped() -> DropoutMode:
    """Return the mode in which nothing is dropped, and torch's random state does not change."""
    return DropoutMode(lambda tensor, site: tensor)


def masked(places: Sequence[Site], drawn: Iterable[Tensor]) -> DropoutMode:
    """Return the mode that multiplies by the drawn masks, in the order of the forward pass."""
    following = zip(places, drawn, strict=True)

    def drop(tensor: Tensor, site: Site) -> Tensor:
        place, mask = next(following, (None, tensor))
        if site != place:
            raise ModelError(
                "The model's dropout is not the same in every forward pass: let forward call the "
                "same dropout layers in the same order whenever it trains."
            )
        return tensor * mask

    return DropoutMode(drop)


def sites(module: nn.Module, shape: tuple[int, ...]) -> list[Site]:
    """List the dropout calls of a training forward pass over examples of a shape."""
    found: list[Site] = []

    def note(tensor: Tensor, site: Site) -> Tensor:
        if len(tensor) != PROBE:
            raise ModelError(
                f"Dropout acts on a tensor of shape {tuple(tensor.shape)}, whose first dimension "
                "is not the batch: put the batch first (batch_first=True)."
            )
        found.append(site)
        return tensor

    with torch.no_grad(), DropoutMode(note):
        module(torch.zeros(PROBE, *shape, device=next(module.parameters()).device))
    return found
