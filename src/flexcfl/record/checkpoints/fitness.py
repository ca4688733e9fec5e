"""Whether a value can be read back from a checkpoint, and what to change if it cannot."""

from collections.abc import Iterator
from dataclasses import is_dataclass
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

import numpy as np

from flexcfl.record.checkpoints.tree import (
    PLAIN,
    UnfitError,
    flattened,
    hints,
    rebuilt,
    resolved_alias,
)

WORKS = "NDArray[np.float32], int, float, bool, str, None, tuples and frozen dataclasses of these"


def unreadable_part(kind: Any, value: Any) -> str | None:
    """Return which part of a value cannot be read back by its annotation, or None.

    >>> unreadable_part(tuple[int, ...], (1, 2))
    >>> unreadable_part(np.ndarray, np.zeros(2, dtype=np.float32))
    'it is annotated as ndarray and holds an array of float32: annotate it as NDArray[np.float32]'
    """
    for path, hint, part in _parts("", kind, value):
        named = f"its field '{path}'" if path else "it"
        if not _comes_back(hint, part):
            return (
                f"{named} is annotated as {_named(hint)} and holds {_held(part)}: {_advice(part)}"
            )
        if not _readable(hint):
            return f"{named} is annotated as {_named(hint)}: what can be read back is {WORKS}"
    return (
        None if _comes_back(kind, value) else f"{_named(kind)} cannot be made of its fields alone"
    )


def _parts(path: str, kind: Any, value: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield the fields of nested dataclasses, each with its path and its annotation."""
    if not (_is_dataclass(kind) and isinstance(value, kind)):
        yield path, kind, value
        return
    for name, hint in hints(kind).items():
        yield from _parts(f"{path}.{name}" if path else name, hint, getattr(value, name))


def _is_dataclass(kind: Any) -> bool:
    return is_dataclass(kind)  # a function, so that mypy does not narrow the type


def _comes_back(hint: Any, value: Any) -> bool:
    arrays: list[Any] = []
    try:
        rebuilt(hint, flattened(value, arrays), arrays)
    except (TypeError, UnfitError):  # cannot be written, or cannot be read
        return False
    return True


def _readable(kind: Any) -> bool:
    """Whether any value of a type can be read back, because the current value may be None."""
    kind = resolved_alias(kind)
    origin, inner = get_origin(kind), get_args(kind)
    if origin is np.ndarray:
        scalar = (*get_args(inner[1]), None)[0]
        return isinstance(scalar, type) and issubclass(scalar, np.generic)
    if origin in (Union, UnionType, tuple):
        return all(each is ... or _readable(each) for each in inner)
    if _is_dataclass(kind):
        return all(map(_readable, hints(kind).values()))
    return kind in (*PLAIN, NoneType)


def _named(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) and not get_args(hint) else str(hint)


def _held(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}"
    return "None" if value is None else f"a {type(value).__name__}"


def _advice(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return f"annotate it as {_works(value)}"
    if isinstance(value, np.generic) and isinstance(value.item(), PLAIN):
        plain = type(value.item()).__name__
        return f"annotate it as {plain}, and keep {plain}(value)"
    if is_dataclass(value):
        return f"annotate it as {type(value).__name__}"
    if isinstance(value, list):
        return "keep a tuple, annotated as tuple[float, ...] or what its items are"
    if value is None or type(value) in PLAIN:
        return f"annotate it as {_works(value)}"
    return f"what can be read back is {WORKS}"


def _works(value: Any) -> str:
    """Return the annotation of an array of numbers, or of a plain value."""
    if isinstance(value, np.ndarray):
        return f"NDArray[np.{value.dtype.type.__name__}]"
    return "a type that may be None" if value is None else type(value).__name__
