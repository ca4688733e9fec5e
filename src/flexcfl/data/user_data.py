"""Examples and labels as users bring them: checked, and turned into arrays of our types."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexcfl.data.federation_checks import NUMBERED
from flexcfl.errors import DataError, reason
from flexcfl.settings import shown

__all__ = [
    "NUMERIC",
    "Examples",
    "Holding",
    "Pair",
    "Subject",
    "checked",
    "fitted",
    "label_of",
    "stacked",
]

Pair: TypeAlias = tuple[NDArray[np.float32], NDArray[np.int64]]
Subject = Callable[[int], str]  # how the sentence on an example's owner begins

NUMERIC = "fiub"  # the kinds of arrays that hold numbers: float, int, unsigned, bool
BRIGHTEST = {"u1": 255, "u2": 65535, "b1": 1}  # of the images whose numbers are of these types


@dataclass(frozen=True, eq=False)
class Examples:
    """Examples and labels as they were found, not checked yet.

    ``where`` is how a sentence on them begins, such as a file in quotation marks.
    """

    where: str
    x: NDArray[Any]
    y: NDArray[Any]


@dataclass(frozen=True, eq=False)
class Holding:
    """The data of one client; there may be none to test with.

    Where ``whole`` is true they are not divided yet: examples to test with are among ``train``.
    """

    train: Examples
    test: Examples | None = None
    whole: bool = False


def checked(examples: Examples) -> Pair:
    """Return examples and labels as a federation has them, or a sentence on what is wrong."""
    where, x, y = examples.where, examples.x, examples.y
    if x.dtype.kind not in NUMERIC or y.dtype.kind not in "iu" or y.ndim != 1 or x.ndim < 1:
        raise DataError(
            f"{where} has examples of type {x.dtype} and labels of type {y.dtype} in {y.ndim} "
            "dimensions: give numbers, and one whole number for each as its label, with classes "
            "numbered from 0 and alike for all clients, for flexcfl has no regression."
        )
    if len(x) != len(y):
        raise DataError(
            f"{where} has {len(x)} examples but {len(y)} labels: give every example one label."
        )
    with np.errstate(over="ignore"):  # which is seen below
        numbers = np.ascontiguousarray(x, dtype=np.float32)
    if numbers.size and not np.isfinite([numbers.min(), numbers.max()]).all():
        raise DataError(f"{where} has NaN or infinity in its examples: fill in what is missing.")
    return numbers, y.astype(np.int64, copy=False)


def fitted(
    examples: Examples, shape: tuple[int, ...], classes: int, wanting: str, table: str = ""
) -> Pair:
    """Return examples of that ``shape`` with labels of so many ``classes``.

    If they have not, the sentence is that they do not fit ``wanting``, and it names the setting of
    the experiment's ``table`` that asks for this.
    """
    said = {name: f" ({table} {name})" if table else "" for name in ("shape", "classes")}
    where, (x, y) = examples.where, checked(examples)
    if not _alike(x.shape[1:], shape):
        raise DataError(
            f"The data do not fit {wanting}: {where} has examples of shape {x.shape[1:]}, and "
            f"{shape} is wanted{said['shape']}; convert them as those of the others were."
        )
    if len(y) and not 0 <= y.min() <= y.max() < classes:
        # The sentence keeps the label to itself: a node sends it to the server.
        raise DataError(
            f"The data do not fit {wanting}: {where} has a label outside of 0 to {classes - 1}"
            f"{said['classes']}; number the labels as the others do."
        )
    return x.reshape(len(x), *shape), y


def _alike(shape: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Tell whether a reshape will do, because one side is flat or has an axis of one."""
    if np.prod(shape) != np.prod(wanted):
        return False
    flat = min(len(shape), len(wanted)) == 1
    return flat or [each for each in shape if each > 1] == [each for each in wanted if each > 1]


def stacked(examples: Iterable[Any], number: int, subject: Subject) -> NDArray[np.float32]:
    """Return so many examples as one array; images of Pillow become numbers from 0 to 1."""
    pool = np.empty((number, 0), dtype=np.float32)
    for index, example in enumerate(examples):
        array = _array(example, index, subject)
        if index == 0:
            pool = np.empty((number, *array.shape), dtype=np.float32)
        if array.shape != pool.shape[1:]:
            raise DataError(
                f"{subject(index)} has the example {index} of shape {array.shape}, and the first "
                f"example is of shape {pool.shape[1:]}: bring all examples to one shape."
            )
        with np.errstate(over="ignore"):  # which is infinity, and seen later
            pool[index] = array
    return pool


def label_of(label: Any, index: int, subject: Subject) -> int:
    """Return the label of an example as a number."""
    try:
        value = np.asarray(label)
    except (TypeError, ValueError, RuntimeError):  # ragged, or what a tensor says of itself
        value = np.empty(0)
    if value.size != 1 or value.dtype.kind not in "iu":
        raise DataError(
            f"{subject(index)} has the label {shown(label)} for the example {index}: {NUMBERED}."
        )
    return int(value.item())


def _array(example: Any, index: int, subject: Subject) -> NDArray[Any]:
    try:
        array = _image(example) if hasattr(example, "getbands") else np.asarray(example)
    except (TypeError, ValueError, RuntimeError) as error:
        raise DataError(
            f"{subject(index)} has the example {index}, which is no array of numbers "
            f"({reason(error)}): turn it into one."
        ) from None
    if array.dtype.kind not in NUMERIC:
        kind = type(example).__name__ if array.dtype.kind == "O" else array.dtype
        raise DataError(
            f"{subject(index)} has the example {index} of type {kind}: turn it into an array of "
            "numbers."
        )
    return array


def _image(image: Any) -> NDArray[np.float32]:
    """Return an image of Pillow with its channels first."""
    pixels = np.asarray(image.convert("RGB") if image.mode.startswith("P") else image)
    brightest = BRIGHTEST.get(pixels.dtype.str[1:])
    if brightest is None:
        raise ValueError(f"it is an image of mode '{image.mode}', whose brightest is unknown")
    channels = pixels[np.newaxis] if pixels.ndim == 2 else np.moveaxis(pixels, -1, 0)
    return (channels / np.float32(brightest)).astype(np.float32, copy=False)
