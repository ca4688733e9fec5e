"""What only running a module can tell: does it fit the data, and do its copies stay apart.

Everything is tried on a copy, with dropout switched off, because the engine replaces dropout by
masks seeded per client.
"""

import copy
import warnings
from itertools import chain

import torch
from torch import Tensor, nn

from flexcfl.errors import ModelError
from flexcfl.extensions import in_short
from flexcfl.models import copies
from flexcfl.models.dropout import undropped

__all__ = ["run"]

_ROWS = 3


def run(module: nn.Module, shape: tuple[int, ...], classes: int) -> None:
    """Try a copy of the module on a few random examples; raise ``ModelError`` if it fails."""
    model = _copied(module)
    # In [0, 1) rows are valid pixels, and valid token numbers for a model that rounds them down.
    rows = torch.rand((_ROWS, *shape), generator=torch.Generator().manual_seed(0))
    with (
        torch.random.fork_rng(devices=[]),
        torch.enable_grad(),
        warnings.catch_warnings(),
        undropped(),
    ):
        warnings.simplefilter("ignore")  # vmap warns of operators that it runs one by one
        for training in (True, False):
            model.train(training)
            before = {name: tensor.clone() for name, tensor in _tensors(model).items()}
            _outputs(model, rows, classes)
            _check_unchanged(model, before)
        model.train()
        if not copies.known_to_work(model):
            copies.check(model, rows, classes)
        for training in (True, False):
            model.train(training)
            _check_rows_apart(model, rows, classes)


def _copied(module: nn.Module) -> nn.Module:
    try:
        return copy.deepcopy(module)
    except Exception as error:
        raise ModelError(
            f"The model cannot be copied ({in_short(error)}): keep only layers, parameters, "
            "buffers and plain values as its attributes."
        ) from error


def _tensors(model: nn.Module) -> dict[str, Tensor]:
    return dict(chain(model.named_parameters(), model.named_buffers()))


def _outputs(model: nn.Module, rows: Tensor, classes: int) -> Tensor:
    """Run the model plainly and hold its output against what the classes need."""
    given, needed = tuple(rows.shape), (len(rows), classes)
    try:
        outputs = model(rows)
    except ModelError:
        raise
    except Exception as error:
        raise ModelError(
            f"The model cannot run on a batch of shape {given} ({in_short(error)}): "
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
    if not copies.close(together, alone):
        raise ModelError(
            "The model mixes the examples of a batch, whose outputs must not depend on one "
            "another: normalise each example by itself (nn.LayerNorm, nn.GroupNorm), and make "
            "recurrent and attention layers with batch_first=True."
        )
