"""Which network a name means on a dataset: ``mclr``, ``mlp``, ``cnn``, or a factory of the user's.

The paper trains eight: MCLR, MLP and CNN on MNIST and FEMNIST, MCLR on Synthetic, and CNN on
FashionMNIST (Table 2). The other combinations are ours.
"""

from collections.abc import Callable

from torch import nn

from flexcfl.errors import ModelError, unknown
from flexcfl.models import custom, networks

__all__ = ["NAMES", "build"]

NAMES = ("mclr", "mlp", "cnn")

# Hidden units of the MLP: MNIST and FEMNIST as in the paper; any other dataset takes ours.
_WIDTHS = {"mnist": 128, "femnist": 512, "digits": 64}
_OUR_WIDTH = 128

_GREY = (1, 28, 28)
_CNNS: dict[str, tuple[tuple[int, ...], Callable[[int], nn.Module]]] = {
    "mnist": (_GREY, networks.mnist_cnn),
    "femnist": (_GREY, networks.femnist_cnn),
    "fashion-mnist": (_GREY, networks.fashion_cnn),
    "digits": ((1, 8, 8), networks.digits_cnn),
}
_OTHER_CNN = (_GREY, networks.mnist_cnn)


def build(dataset: str, name: str, shape: tuple[int, ...], classes: int) -> nn.Module:
    """Make the network ``name`` for examples of ``shape`` in so many classes.

    ``name`` is ``mclr``, ``mlp``, ``cnn``, or ``package.module:factory`` for the user's own.
    Weights are drawn from torch's global generator; see ``initialised``.
    """
    if ":" in name:
        return custom.made(name)
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
    expected, network = _CNNS.get(dataset, _OTHER_CNN)
    if shape != expected:
        raise ModelError(
            f"The cnn of '{dataset}' takes images of shape {expected}, not {shape}: "
            "choose mclr or mlp, or name a network of your own as package.module:factory."
        )
    return network(classes)
