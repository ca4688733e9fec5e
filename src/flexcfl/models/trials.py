"""Checks that run a module: whether it fits the data, and whether its copies can run together.

They use a copy of the module without dropout, because the engine replaces dropout by masks that are
seeded per client.
"""

import copy
import warnings
from itertools import chain

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap
from torch.nn import functional

from flexcfl.errors import ModelError
from flexcfl.extensions import error_summary
from flexcfl.models.dropout import undropped
from flexcfl.models.networks import PLAIN

_ROWS = 3
_KNOWN = {nn.Sequential, nn.Dropout2d, *PLAIN}
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
# Float32 sums in another order differ by about 1e-6; a real difference is far above this bound.
_NOISE = 1e-3


def try_module(module: nn.Module, shape: tuple[int, ...], classes: int) -> None:
    """Try a copy of the module on a few random examples; raise ``ModelError`` if it fails."""
    model = _copied(module)
    # Values in [0, 1) are valid pixels, and valid token numbers for a model that rounds them down.
    rows = torch.rand((_ROWS, *shape), generator=torch.Generator().manual_seed(0))
    with (
        torch.random.fork_rng(devices=[]),
        torch.enable_grad(),
        warnings.catch_warnings(),
        undropped(),
    ):
        warnings.simplefilter("ignore")  # vmap warns about operators that it runs one by one
        for training in (True, False):
            model.train(training)
            before = {name: tensor.clone() for name, tensor in _tensors(model).items()}
            _outputs(model, rows, classes)
            _check_unchanged(model, before)
        model.train()
        if not known_to_work(model):
            check_copies(model, rows, classes)
        for training in (True, False):
            model.train(training)
            _check_rows_apart(model, rows, classes)


def _copied(module: nn.Module) -> nn.Module:
    try:
        return copy.deepcopy(module)
    except Exception as error:
        raise ModelError(
            f"The model cannot be copied ({error_summary(error)}): keep only layers, parameters, "
            "buffers and plain values as its attributes."
        ) from error


def _tensors(model: nn.Module) -> dict[str, Tensor]:
    return dict(chain(model.named_parameters(), model.named_buffers()))


def _outputs(model: nn.Module, rows: Tensor, classes: int) -> Tensor:
    """Run the model and check the shape and type of its output."""
    given, needed = tuple(rows.shape), (len(rows), classes)
    try:
        outputs = model(rows)
    except ModelError:
        raise
    except Exception as error:
        raise ModelError(
            f"The model cannot run on a batch of shape {given} ({error_summary(error)}): "
            f"it must take any number of examples of shape {given[1:]}."
        ) from error
    if not isinstance(outputs, Tensor):
        raise ModelError(
            f"The model returns a {type(outputs).__name__}: "
            f"it must return one tensor of shape {needed} for a batch of shape {given}."
        )
    if tuple(outputs.shape) != needed or outputs.dtype != torch.float32:
        raise ModelError(
            f"The model returns shape {tuple(outputs.shape)} of {outputs.dtype} for a batch of "
            f"shape {given}: {classes} classes need shape {needed} of torch.float32."
        )
    return outputs.detach()


def _check_unchanged(model: nn.Module, before: dict[str, Tensor]) -> None:
    for name, tensor in _tensors(model).items():
        old = before.get(name)
        if old is None or not torch.equal(old.nan_to_num(), tensor.nan_to_num()):
            raise ModelError(
                f"The model changes '{name}' while it runs, which copies of a model trained at "
                "once cannot keep apart: keep it constant, or compute it anew in every forward."
            )


def _check_rows_apart(model: nn.Module, rows: Tensor, classes: int) -> None:
    together = _outputs(model, rows, classes)
    alone = torch.cat([_outputs(model, row[None], classes) for row in rows])
    if not _close(together, alone):
        raise ModelError(
            "The model mixes the examples of a batch, whose outputs must not depend on one "
            "another: normalise each example by itself (nn.LayerNorm, nn.GroupNorm), and make "
            "recurrent and attention layers with batch_first=True."
        )


def known_to_work(model: nn.Module) -> bool:
    """Whether a model is a plain sequence of torch's own layers.

    These need no check, and running copies together for the first time makes torch import its
    compiler, which takes as long as importing torch.
    """
    return not hooked(model) and all(type(each) in _KNOWN for each in model.modules())


def hooked(module: nn.Module) -> bool:
    """Whether the module or a submodule has a hook, which only runs if the module is called."""
    return any(getattr(each, name) for each in module.modules() for name in _HOOKS)


def check_copies(model: nn.Module, rows: Tensor, classes: int) -> None:
    """Compare the gradients of two copies run together with those of each copy alone."""
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
    if not _close(together, alone):
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
        f"The model cannot be run as many copies at once ({error_summary(error)}): in forward, use "
        "tensor operations only, without .item(), if or while on values, or writing into "
        "tensors that were made outside."
    )


def _close(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors differ by no more than rounding, relative to the larger one."""
    one, other = one.nan_to_num(), other.nan_to_num()
    allowed = _NOISE * torch.maximum(one.norm(), other.norm())
    return bool((one - other).norm() <= allowed)
