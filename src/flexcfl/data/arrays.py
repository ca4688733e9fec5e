"""A federation from arrays: the examples, their labels and the owner of each example."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flexcfl.data.federation import LABEL_ADVICE, Federation
from flexcfl.data.user_data import (
    NUMERIC,
    SplitOptions,
    draw_test_flags,
    federation_of_pool,
)
from flexcfl.errors import DataError, reason
from flexcfl.settings import keywords, short_repr, validated

Subject: TypeAlias = Callable[[int], str]  # from an example's index to the subject of a sentence

BRIGHTEST = {"u1": 255, "u2": 65535, "b1": 1}  # the largest pixel value of each image type


@keywords()
def from_arrays(
    x: ArrayLike,
    y: ArrayLike,
    owner: ArrayLike,
    *,
    name: str = "mine",
    test: ArrayLike | None = None,
    test_share: float = 0.2,
    seed: int = 0,
    classes: int | None = None,
) -> Federation:
    """Build a federation from arrays; every distinct owner becomes a client.

    Clients are in the sorted order of their owners. They take the owners' names, unless the owners
    are the numbers from 0.

    Args:
        x: The examples, along the first axis.
        y: The class of each example, a whole number from 0.
        owner: The owner of each example, a number or a string.
        name: The name of the federation.
        test: A flag for each example, True for a test example. Without it, each client's examples
            are split at random.
        test_share: The share of each client's examples that the random split uses for testing.
        seed: The seed of the random split.
        classes: The number of classes; by default the largest label plus one.

    Returns:
        The federation, with one client for each owner.

    Raises:
        DataError: If an array is not as described; the message names the client and the example.

    Example:
        >>> import numpy as np
        >>> x, y = np.zeros((6, 2)), np.array([0, 1, 0, 1, 2, 2])
        >>> mine = from_arrays(x, y, ["ann", "ann", "bob", "bob", "bob", "ann"])
        >>> mine.names, mine.classes, mine.train.sizes
        (('ann', 'bob'), 3, array([2, 2]))

    """
    division = validated(SplitOptions, {"test_share": test_share, "seed": seed}, "from_arrays")
    owners = Owners(name, owner)
    numbers, labels = _numbers(x, owners), _labels(y, owners)
    client_of = owners.client_of
    flags = draw_test_flags(client_of, division) if test is None else _flags(test, owners)
    return federation_of_pool(name, numbers, labels, client_of, flags, owners.clients, classes)


class Owners:
    """The owners of a federation's examples; ``client_of`` is each example's client number."""

    def __init__(self, name: str, owner: ArrayLike) -> None:
        self.name = name
        given = _one_each(name, owner)
        try:
            clients, client_of = np.unique(given, return_inverse=True)
        except TypeError as error:
            raise DataError(
                f"The owners of '{name}' have no order ({reason(error)}): give numbers alone, or "
                "texts alone."
            ) from None
        self.clients: Sequence[Any] = clients.tolist()
        self.client_of: NDArray[np.int64] = client_of.astype(np.int64)

    def subject(self, index: int) -> str:
        """Return the subject of a sentence about an example's owner."""
        return f"Client {short_repr(self.clients[self.client_of[index]])} of '{self.name}'"

    def require_length(self, number: int, what: str) -> None:
        """Raise an error unless ``number`` equals the number of owners."""
        if number != len(self.client_of):
            raise DataError(
                f"'{self.name}' has {number} {what} but {len(self.client_of)} owners: every "
                "example needs one of each."
            )


def _one_each(name: str, owner: ArrayLike) -> NDArray[Any]:
    try:
        given = np.asarray(owner)
    except ValueError:  # ragged
        given = np.empty((0, 0))
    if given.ndim != 1 or not len(given):
        raise DataError(
            f"The owners of '{name}' are of shape {given.shape}: give one number or name for each "
            "example, and at least one example."
        )
    # Look at the list itself: in an array of strings, NumPy turns a missing value into a string.
    if given.dtype.kind in "fO" or isinstance(owner, list | tuple):
        for index, each in enumerate(_given(owner, given)):
            if _missing(each):
                raise DataError(
                    f"'{name}' has no owner for the example {index} ({each}): name its owner, or "
                    "leave it out."
                )
    return given


def _missing(value: Any) -> bool:
    """Return whether a value is missing: NaN differs from itself, and pandas' NA raises."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True


def _numbers(x: ArrayLike, owners: Owners) -> NDArray[Any]:
    """Return the examples as an array; if they form none, name the first one that differs."""
    array = _array(x)
    if array.dtype.kind not in NUMERIC + "O" or array.ndim < 1:
        raise DataError(
            f"The examples of '{owners.name}' are of type {array.dtype} and shape {array.shape}: "
            "give an array of numbers, the examples along its first axis."
        )
    owners.require_length(len(array), "examples")
    if array.dtype.kind in NUMERIC:
        return array
    return stack_examples(_given(x, array), len(array), owners.subject)


def _labels(y: ArrayLike, owners: Owners) -> NDArray[Any]:
    """Return the labels as an array of integers, or name the first one that is not an integer."""
    array = _array(y)
    if array.ndim < 1 or (array.ndim > 1 and array.dtype.kind in "iu"):
        return array  # Federation refuses this shape
    owners.require_length(len(array), "labels")
    if array.dtype.kind in "iu":
        return array
    given = enumerate(_given(y, array))
    return np.array([label_as_int(label, index, owners.subject) for index, label in given])


def _array(values: ArrayLike) -> NDArray[Any]:
    """Return values as an array; ragged values give an array of objects."""
    try:
        return np.asarray(values)
    except ValueError:  # ragged
        return np.empty(len(values), dtype=object)  # type: ignore[arg-type]  # a list, then


def _given(values: ArrayLike, array: NDArray[Any]) -> Sequence[Any]:
    """Return the original values: in an array, one odd value changes the type of all."""
    given: Sequence[Any] = values if isinstance(values, list | tuple) else array.tolist()
    return given


def _flags(test: ArrayLike, owners: Owners) -> NDArray[np.bool_]:
    flags = np.asarray(test)
    if flags.ndim != 1 or flags.dtype != np.bool_:
        raise DataError(
            f"test of '{owners.name}' is of type {flags.dtype} and shape {flags.shape}: give True "
            "for each test example and False for each training example."
        )
    owners.require_length(len(flags), "flags in test")
    return flags


def stack_examples(examples: Iterable[Any], number: int, subject: Subject) -> NDArray[np.float32]:
    """Return ``number`` examples as one array; Pillow images become numbers from 0 to 1."""
    pool = np.empty((number, 0), dtype=np.float32)
    for index, example in enumerate(examples):
        array = _example(example, index, subject)
        if index == 0:
            pool = np.empty((number, *array.shape), dtype=np.float32)
        if array.shape != pool.shape[1:]:
            raise DataError(
                f"{subject(index)} has the example {index} of shape {array.shape}, and the first "
                f"example is of shape {pool.shape[1:]}: bring all examples to one shape."
            )
        with np.errstate(over="ignore"):  # an overflow gives infinity, which is checked later
            pool[index] = array
    return pool


def label_as_int(label: Any, index: int, subject: Subject) -> int:
    """Return the label of an example as a number."""
    try:
        value = np.asarray(label)
    except (TypeError, ValueError, RuntimeError):  # ragged, or a tensor that cannot be converted
        value = np.empty(0)
    if value.size != 1 or value.dtype.kind not in "iu":
        raise DataError(
            f"{subject(index)} has the label {short_repr(label)} for the example {index}: "
            f"{LABEL_ADVICE}."
        )
    return int(value.item())


def _example(example: Any, index: int, subject: Subject) -> NDArray[Any]:
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
    """Return a Pillow image as an array with its channels first."""
    pixels = np.asarray(image.convert("RGB") if image.mode.startswith("P") else image)
    brightest = BRIGHTEST.get(pixels.dtype.str[1:])
    if brightest is None:
        raise ValueError(f"it is an image of mode '{image.mode}', whose largest value is unknown")
    channels = pixels[np.newaxis] if pixels.ndim == 2 else np.moveaxis(pixels, -1, 0)
    return (channels / np.float32(brightest)).astype(np.float32, copy=False)
