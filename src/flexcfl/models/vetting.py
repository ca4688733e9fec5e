"""Checks whether many copies of a module can be trained together on given data.

Checks that do not run the module are here; those that run it are in ``trials``.
"""

from torch import Tensor, float32, nn
from torch.nn.modules.batchnorm import _BatchNorm, _NormBase
from torch.nn.parameter import is_lazy

from flexcfl.errors import ModelError
from flexcfl.models import trials


def check(module: nn.Module, shape: tuple[int, ...], classes: int) -> None:
    """Raise ``ModelError`` if the module cannot learn ``classes`` from examples of ``shape``.

    The module itself and torch's random state do not change. Parameters that several layers share
    are fine: they are counted and trained once.
    """
    _check_parameters(module)
    _check_buffers(module)
    for name, layer in module.named_modules():
        _check_layer(_named(name, layer), layer)
    _check_registered_once(module)
    trials.try_module(module, shape, classes)


def _check_parameters(module: nn.Module) -> None:
    parameters = dict(module.named_parameters())
    if not parameters:
        raise ModelError(
            f"The model ({type(module).__name__}) has no parameters, so there is nothing to train: "
            "assign its layers as attributes in __init__, so that torch registers them."
        )
    for name, parameter in parameters.items():
        _check_tensor(f"parameter '{name}'", parameter)
        if parameter.dtype != float32:
            raise ModelError(
                f"The model's parameter '{name}' is {parameter.dtype}, but models are exchanged as "
                "float32: call .float() on the module where it is made."
            )
        if not parameter.requires_grad:
            raise ModelError(
                f"The model's parameter '{name}' is frozen (requires_grad is False), but every "
                "parameter is trained: set it to True, or make it a buffer with register_buffer."
            )


def _check_buffers(module: nn.Module) -> None:
    for name, buffer in module.named_buffers():
        _check_tensor(f"buffer '{name}'", buffer)
        if (buffer.is_floating_point() or buffer.is_complex()) and buffer.dtype != float32:
            raise ModelError(
                f"The model's buffer '{name}' is {buffer.dtype}, but models compute in float32: "
                "call .float() on the module where it is made."
            )


def _check_tensor(what: str, tensor: Tensor) -> None:
    if is_lazy(tensor):
        raise ModelError(
            f"The model's {what} has no size yet: give the layer its sizes "
            "(nn.Linear instead of nn.LazyLinear), or run the module once where it is made."
        )
    if tensor.device.type != "cpu":
        raise ModelError(
            f"The model's {what} is on the device '{tensor.device}': "
            "make the module on the CPU, the run moves it to the device you choose."
        )


def _check_layer(what: str, layer: nn.Module) -> None:
    """Refuse well-known layers that cannot work, each with its usual replacement."""
    if isinstance(layer, _BatchNorm):
        raise ModelError(
            f"The layer {what} normalises over the examples of a batch, which copies of a model "
            "trained at once cannot keep apart: use nn.GroupNorm or nn.LayerNorm instead."
        )
    if isinstance(layer, _NormBase) and layer.track_running_stats:
        raise ModelError(
            f"The layer {what} keeps running statistics, which copies of a model trained at once "
            "cannot keep apart: use track_running_stats=False, nn.GroupNorm or nn.LayerNorm."
        )
    if isinstance(layer, nn.RNNBase | nn.MultiheadAttention) and layer.dropout > 0:
        raise ModelError(
            f"The layer {what} has dropout inside, which cannot be seeded per client: "
            "make it with dropout=0 and put nn.Dropout layers before or after it."
        )


def _check_registered_once(module: nn.Module) -> None:
    """Refuse a layer with parameters and two names, which ``functional_call`` does not restore."""
    first: dict[nn.Module, str] = {}
    for name, layer in module.named_modules(remove_duplicate=False):
        if layer in first and layer._parameters:
            raise ModelError(
                f"The layer {_named(first[layer], layer)} is registered a second time as '{name}', "
                "where copies of it cannot be kept apart: assign it once, and in forward call it "
                "as often as you like."
            )
        first[layer] = name


def _named(name: str, layer: nn.Module) -> str:
    return f"'{name}' ({type(layer).__name__})" if name else type(layer).__name__
