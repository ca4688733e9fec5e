"""Whether copies of a module, run at once, learn what each of them would learn alone."""

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap
from torch.nn import functional

from flexcfl.errors import ModelError
from flexcfl.extensions import in_short
from flexcfl.models.hooks import hooked

__all__ = ["check", "close", "known_to_work"]

_KNOWN = {
    nn.Sequential,
    nn.Flatten,
    nn.Linear,
    nn.ReLU,
    nn.Conv2d,
    nn.ZeroPad2d,
    nn.MaxPool2d,
    nn.Dropout,
    nn.Dropout2d,
}

# Float32 sums taken in another order differ by about 1e-6; a real difference is far above this.
_NOISE = 1e-3


def known_to_work(model: nn.Module) -> bool:
    """Whether a model is nothing but layers of torch's own, one after the other.

    There is nothing to find out about those, and to run copies at once for the first time makes
    torch import its compiler, which takes as long as torch itself.
    """
    return not hooked(model) and all(type(each) in _KNOWN for each in model.modules())


def check(model: nn.Module, rows: Tensor, classes: int) -> None:
    """Hold the gradients of two copies run at once against those of each copy alone."""
    labels = torch.arange(len(rows)) % classes
    batches = torch.stack([rows, rows.flip(0)])
    stacked = {
        name: torch.stack([tensor.detach(), 1.1 * tensor.detach()])
        for name, tensor in model.named_parameters()
    }
    try:
        together = _gradients_together(model, stacked, batches, labels)
        alone = _gradients_alone(model, stacked, batches, labels)
    except ModelError:
        raise
    except Exception as error:
        raise ModelError(_why_not_together(error)) from error
    if not close(together, alone):
        raise ModelError(
            "The model's gradients are wrong when many copies run at once: use its parameters in "
            "forward as attributes of their layers, never through lists or closures."
        )


def _gradients_together(
    model: nn.Module, stacked: dict[str, Tensor], batches: Tensor, labels: Tensor
) -> Tensor:
    def loss(parameters: dict[str, Tensor], batch: Tensor) -> Tensor:
        return functional.cross_entropy(functional_call(model, parameters, (batch,)), labels)

    gradients = vmap(grad(loss), randomness="error")(stacked, batches)
    return torch.cat([gradients[name].flatten(1) for name in stacked], dim=1)


def _gradients_alone(
    model: nn.Module, stacked: dict[str, Tensor], batches: Tensor, labels: Tensor
) -> Tensor:
    parameters = dict(model.named_parameters())
    found = []
    for index, batch in enumerate(batches):
        with torch.no_grad():
            for name, tensor in parameters.items():
                tensor.copy_(stacked[name][index])
        loss = functional.cross_entropy(model(batch), labels)
        if not loss.requires_grad:
            raise ModelError(
                "The model's output does not depend on its parameters, so nothing can be learnt: "
                "remove detach() and no_grad() from forward."
            )
        gradients = torch.autograd.grad(
            loss, list(parameters.values()), allow_unused=True, materialize_grads=True
        )
        found.append(torch.cat([gradient.flatten() for gradient in gradients]))
    return torch.stack(found)


def _why_not_together(error: Exception) -> str:
    if "random operation" in str(error):
        return (
            "The model draws random numbers that cannot be seeded per client: "
            "take them out, or use nn.Dropout, nn.Dropout1d, 2d or 3d, which alone can be."
        )
    return (
        f"The model cannot be run as many copies at once ({in_short(error)}): in forward, use "
        "tensor operations only, without .item(), if or while on values, or writing into "
        "tensors that were made outside."
    )


def close(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors differ by no more than rounding, as a share of the larger one."""
    one, other = one.nan_to_num(), other.nan_to_num()
    allowed = _NOISE * torch.maximum(one.norm(), other.norm())
    return bool((one - other).norm() <= allowed)
