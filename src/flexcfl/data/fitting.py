"""Examples from elsewhere as a model takes them, or a sentence on what differs."""

import numpy as np

from flexcfl.data.holdings import Examples, Pair, checked
from flexcfl.errors import DataError

__all__ = ["fitted"]


def fitted(
    examples: Examples, shape: tuple[int, ...], classes: int, wanting: str, table: str = ""
) -> Pair:
    """Return examples of that ``shape`` with labels of so many ``classes``.

    ``wanting`` says, in sentences, who it is that wants them so, and ``table`` in which one of the
    experiment's tables it is said.
    """
    said = {name: f" ({table} {name})" if table else "" for name in ("shape", "classes")}
    where, (x, y) = examples.where, checked(examples)
    if not _alike(x.shape[1:], shape):
        raise DataError(
            f"The data do not fit {wanting}: {where} has examples of shape {x.shape[1:]}, and "
            f"{shape} is wanted{said['shape']}; convert them as those of the others were."
        )
    if len(y) and not 0 <= y.min() <= y.max() < classes:
        # Which one it is stays here: where this is a node, the server reads it, too.
        raise DataError(
            f"The data do not fit {wanting}: {where} has a label outside of 0 to {classes - 1}"
            f"{said['classes']}; number the labels as the others do."
        )
    return x.reshape(len(x), *shape), y


def _alike(shape: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Whether numbers only have to be read anew, because one side is flat or has an axis of one."""
    if np.prod(shape) != np.prod(wanted):
        return False
    flat = min(len(shape), len(wanted)) == 1
    return flat or [each for each in shape if each > 1] == [each for each in wanted if each > 1]
