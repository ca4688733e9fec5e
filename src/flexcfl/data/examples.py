"""Single examples and labels, as datasets of others hand them out, put into one array."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexcfl.data.soundness import NUMBERED
from flexcfl.errors import DataError, reason
from flexcfl.settings import shown

__all__ = ["NUMERIC", "Subject", "label_of", "stacked"]

Subject = Callable[[int], str]  # how the sentence on an example's owner begins

NUMERIC = "fiub"  # the kinds of arrays that hold numbers: float, int, unsigned, bool
BRIGHTEST = {"u1": 255, "u2": 65535, "b1": 1}  # of the images whose numbers are of these types


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
        raise DataError(
            f"{subject(index)} has the example {index} of type {_kind(example, array)}: turn it "
            "into an array of numbers."
        )
    return array


def _kind(example: Any, array: NDArray[Any]) -> str:
    return type(example).__name__ if array.dtype.kind == "O" else str(array.dtype)


def _image(image: Any) -> NDArray[np.float32]:
    """Return an image of Pillow with its channels first."""
    pixels = np.asarray(image.convert("RGB") if image.mode.startswith("P") else image)
    brightest = BRIGHTEST.get(pixels.dtype.str[1:])
    if brightest is None:
        raise ValueError(f"it is an image of mode '{image.mode}', whose brightest is unknown")
    channels = pixels[np.newaxis] if pixels.ndim == 2 else np.moveaxis(pixels, -1, 0)
    return (channels / np.float32(brightest)).astype(np.float32, copy=False)
