"""Networks by name and dataset: ``mclr``, ``mlp``, ``cnn``, or a user's factory.

The paper trains eight: MCLR, MLP and CNN on MNIST and FEMNIST, MCLR on Synthetic, and CNN on
FashionMNIST (Table 2). The other combinations are ours.
"""

import inspect
from collections.abc import Callable
from typing import Any

from torch import nn

from flexcfl.errors import ModelError, unknown
from flexcfl.extensions import RAISED, error_summary, import_object, importable_from_here
from flexcfl.models import networks

NAMES = ("mclr", "mlp", "cnn")

# Hidden units of the MLP: MNIST and FEMNIST as in the paper; other datasets use our choice.
_WIDTHS = {"mnist": 128, "femnist": 512, "digits": 64}
_OUR_WIDTH = 128

# The CNNs take greyscale images; any other dataset uses MNIST's.
_CNNS = {
    "femnist": networks.femnist_cnn,
    "fashion-mnist": networks.fashion_cnn,
    "digits": networks.digits_cnn,
}


def build(dataset: str, name: str, shape: tuple[int, ...], classes: int) -> nn.Module:
    """Make the network ``name`` for examples of ``shape`` in so many classes.

    ``name`` is ``mclr``, ``mlp``, ``cnn``, or ``package.module:factory`` for a custom network.
    Weights are drawn from torch's global generator; see ``initialised``.
    """
    if ":" in name:
        with importable_from_here():  # the factory itself may import modules
            return checked_factory(import_object(name, "model", ModelError), name)()
    if name == "mclr":
        return networks.dense(shape, (), classes)
    if name == "mlp":
        return networks.dense(shape, (_WIDTHS.get(dataset, _OUR_WIDTH),), classes)
    if name == "cnn":
        return _cnn(dataset, shape, classes)
    if "." in name:
        raise ModelError(
            f"There is no model '{name}': to use a network of your own, "
            "put a colon before what makes it, as in package.module:factory."
        )
    raise ModelError(unknown("model", name, NAMES))


def _cnn(dataset: str, shape: tuple[int, ...], classes: int) -> nn.Module:
    if len(shape) != 3:
        raise ModelError(
            f"The cnn needs images, and an example of '{dataset}' is no image but an array of "
            f"shape {shape}: choose mclr or mlp."
        )
    expected = (1, 8, 8) if dataset == "digits" else (1, 28, 28)
    if shape != expected:
        raise ModelError(
            f"The cnn of '{dataset}' takes images of shape {expected}, not {shape}: "
            "choose mclr or mlp, or name a network of your own as package.module:factory."
        )
    return _CNNS.get(dataset, networks.mnist_cnn)(classes)


def checked_factory(factory: object, label: str) -> Callable[[], nn.Module]:
    """Return a factory that returns a module or raises a ``ModelError``, which names ``label``.

    An object that is no factory is refused immediately.
    """
    called = _factory(factory, label)

    def make() -> nn.Module:
        try:
            module = called()
        except RAISED as error:
            raise ModelError(
                f"The model '{label}' could not be made ({error_summary(error)}): "
                "fix the function or class that makes it."
            ) from error
        if not isinstance(module, nn.Module):
            raise ModelError(
                f"'{label}' returned {_a(type(module))}: it must return a torch.nn.Module."
            )
        return module

    return make


def _factory(found: object, name: str) -> Callable[[], object]:
    if isinstance(found, nn.Module):
        raise ModelError(
            f"'{name}' is a module that has already been made: name the function or class that "
            "makes it, so that every run can draw its first weights anew."
        )
    if not callable(found):
        raise ModelError(
            f"'{name}' is {_a(type(found))}, which cannot be called: "
            "name a function or class that makes a torch.nn.Module."
        )
    if not _needs_nothing(found):
        raise ModelError(
            f"'{name}' cannot be called without arguments: "
            "give them defaults, or name a function that fills them in."
        )
    return found


def _needs_nothing(factory: Callable[..., Any]) -> bool:
    try:
        inspect.signature(factory).bind()
    except TypeError:
        return False
    except ValueError:  # built-in callables have no signature; the call will show
        return True
    return True


def _a(kind: type) -> str:
    return f"an object of type {kind.__name__}" if kind is not type(None) else "nothing"
