"""Dataclasses of arrays as plain JSON and a list of arrays, and back by their types alone.

Objects that are read back are built from types that this program declares; a file only provides
values.
"""

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

PLAIN = (bool, int, float, str)
WHOLE = 2**53  # floats represent all whole numbers up to here


class UnfitError(ValueError):
    """A value that was read does not have the expected type."""


def flattened(value: Any, arrays: list[NDArray[Any]]) -> Any:
    """Return a value as plain JSON; arrays are appended to ``arrays`` and replaced by their index.

    >>> arrays = []
    >>> flattened((None, np.arange(3), 0.5), arrays), arrays
    ([None, 0, 0.5], [array([0, 1, 2])])
    """
    if isinstance(value, np.ndarray):
        arrays.append(value)
        return len(arrays) - 1
    if value is None or type(value) in PLAIN:
        return value
    if isinstance(value, tuple):
        return [flattened(each, arrays) for each in value]
    if is_dataclass(value):
        return {each.name: flattened(getattr(value, each.name), arrays) for each in fields(value)}
    raise TypeError(f"a state may not hold {type(value)}: make it of arrays, numbers and tuples")


def rebuilt(kind: Any, plain: Any, arrays: Sequence[NDArray[Any]]) -> Any:
    """Return the value of type ``kind`` that ``flattened`` made plain, or raise ``UnfitError``.

    >>> rebuilt(tuple[int | None, ...], [1, None], [])
    (1, None)
    """
    kind = resolved_alias(kind)
    origin, inner = get_origin(kind), get_args(kind)
    if origin is np.ndarray:
        return _array(np.dtype(get_args(inner[1])[0]), plain, arrays)
    if origin in (Union, UnionType):
        return _either(inner, plain, arrays)
    if origin is tuple:
        return _tuple(inner, plain, arrays)
    if is_dataclass(kind):
        return _dataclass(kind, plain, arrays)
    if kind is NoneType and plain is None:
        return None
    # A whole number may stand for a float; a bool may not stand for an int, as it does in Python.
    if type(plain) is kind or (kind is float and type(plain) is int and abs(plain) <= WHOLE):
        return kind(plain)
    raise UnfitError(f"{_what(plain)} stands where {getattr(kind, '__name__', kind)} is wanted")


def resolved_alias(kind: Any) -> Any:
    """Return the type behind an alias, such as ``NDArray`` from NumPy 2.5 on."""
    while (meant := getattr(get_origin(kind) or kind, "__value__", None)) is not None:
        kind = meant[get_args(kind)] if get_args(kind) else meant
    return kind


def _array(dtype: np.dtype[Any], plain: Any, arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    if type(plain) is not int or not 0 <= plain < len(arrays):
        raise UnfitError(f"{_what(plain)} is not the number of an array")
    if arrays[plain].dtype != dtype:
        raise UnfitError(f"an array of {arrays[plain].dtype} stands where {dtype} is wanted")
    return arrays[plain]


def _either(kinds: tuple[Any, ...], plain: Any, arrays: Sequence[NDArray[Any]]) -> Any:
    for kind in kinds:
        if (kind is NoneType) == (plain is None):
            return rebuilt(kind, plain, arrays)
    raise UnfitError("a value is missing")


def _tuple(kinds: tuple[Any, ...], plain: Any, arrays: Sequence[NDArray[Any]]) -> Any:
    if not isinstance(plain, list):
        raise UnfitError(f"{_what(plain)} stands where a list is wanted")
    each = kinds[:1] * len(plain) if kinds[1:] == (...,) else kinds
    if len(each) != len(plain):
        raise UnfitError(f"a list has {len(plain)} items, not {len(each)}")
    return tuple(rebuilt(kind, item, arrays) for kind, item in zip(each, plain, strict=True))


def _dataclass(kind: Any, plain: Any, arrays: Sequence[NDArray[Any]]) -> Any:
    wanted = hints(kind)
    if not isinstance(plain, dict) or plain.keys() != wanted.keys():
        raise UnfitError(f"{_what(plain)} stands where the fields {', '.join(wanted)} are wanted")
    values = {name: rebuilt(hint, plain[name], arrays) for name, hint in wanted.items()}
    try:
        return kind(**values)
    except (TypeError, ValueError) as error:  # checks of the type itself, such as shapes of arrays
        raise UnfitError(str(error)) from None


@cache
def hints(kind: Any) -> dict[str, Any]:
    """Return the type of each field of a dataclass."""
    types = get_type_hints(kind)
    return {each.name: types[each.name] for each in fields(kind)}


def _what(plain: Any) -> str:
    """Return a value for use within a sentence; a list or dict only by its type."""
    if isinstance(plain, list | dict):
        return f"a {type(plain).__name__}"
    return f"{plain!r:.40}"
