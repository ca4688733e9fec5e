"""What a checkpoint could not restore is reported, with the annotation that works."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from flexcfl.record.checkpoints import unreadable_part

MODELS = np.zeros((1, 3), dtype=np.float32)


@dataclass(frozen=True)
class Inner:
    """Its only field is annotated without the type of its numbers."""

    models: np.ndarray


@dataclass(frozen=True)
class Made:
    """Not all of its fields can be given to it."""

    models: NDArray[np.float32]
    number: int = field(init=False, default=1)


@dataclass(frozen=True)
class State:
    """One field, of whatever type a test says."""

    inner: Any


def state(kind: Any) -> Any:
    """Return a state class with one field of this annotation."""
    return dataclass(frozen=True)(type("State", (), {"__annotations__": {"inner": kind}}))


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (NDArray[np.float32], MODELS),
        (NDArray[np.float32] | None, None),
        (NDArray[np.bool_] | None, np.zeros(2, dtype=np.bool_)),
        (tuple[NDArray[np.float32], ...], (MODELS, MODELS)),
        (tuple[int, str], (1, "two")),
        (float, 1),
        (bool, True),
    ],
)
def test_what_comes_back_is_let_pass(kind: Any, value: Any) -> None:
    one = state(kind)
    assert unreadable_part(one, one(value)) is None


@pytest.mark.parametrize(
    ("kind", "value", "sentence"),
    [
        (np.ndarray, MODELS, "is annotated as ndarray and holds an array of float32: "),
        (NDArray[np.float64], MODELS, "annotate it as NDArray[np.float32]"),
        (NDArray[Any], MODELS, "annotate it as NDArray[np.float32]"),
        (NDArray[np.float32], MODELS > 0, "annotate it as NDArray[np.bool"),
        (np.ndarray | None, None, "is annotated as numpy.ndarray | None: what can be read back is"),
        (int, np.int64(3), "annotate it as int, and keep int(value)"),
        (float, None, "annotate it as a type that may be None"),
        (int, "three", "annotate it as str"),
        (list[float], [1.0], "keep a tuple, annotated as tuple[float, ...]"),
        (dict[str, int], {"a": 1}, "holds a dict: what can be read back is NDArray[np.float32]"),
        (tuple[np.ndarray, ...], (), "what can be read back is"),
        (State, Inner(MODELS), "annotate it as Inner"),
        (Any, MODELS, "annotate it as NDArray[np.float32]"),
    ],
)
def test_what_does_not_is_reported_with_what_works(kind: Any, value: Any, sentence: str) -> None:
    one = state(kind)
    why = unreadable_part(one, one(value))
    assert why is not None
    assert why.startswith("its field 'inner' is annotated as ")
    assert sentence in why


def test_a_field_is_named_by_its_path() -> None:
    one = state(Inner)
    assert str(unreadable_part(one, one(Inner(MODELS)))).startswith(
        "its field 'inner.models' is annotated"
    )


def test_a_state_that_is_another_or_cannot_be_made_is_reported() -> None:
    assert unreadable_part(Inner, Made(MODELS)) == (
        "it is annotated as Inner and holds a Made: annotate it as Made"
    )
    assert unreadable_part(Made, Made(MODELS)) == "Made cannot be made of its fields alone"
