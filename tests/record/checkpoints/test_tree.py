"""Dataclasses of arrays taken apart and put together again, by their types alone."""

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hn
from numpy.typing import NDArray
from typing_extensions import TypeAliasType

from flexcfl.algorithms.cfl import CflState
from flexcfl.record.checkpoints import UnfitError, flattened, rebuilt, unreadable_part
from tests.record.checkpoints.interrupted import check_values

DTYPES = (np.float32, np.float64, np.bool_, np.int64, np.int32, np.int16, np.int8)


@dataclass(frozen=True, eq=False)
class Inner:
    floats: NDArray[np.float32]
    whole: int
    real: float
    maybe: "str | None"


@dataclass(frozen=True, eq=False)
class Outer:
    flags: NDArray[np.bool_]
    ids: NDArray[np.int64] | None
    pair: tuple[int, NDArray[np.int16]]
    many: tuple[NDArray[np.float64] | None, ...]
    inner: Inner
    inners: tuple[Inner, ...]
    yes: bool


def arrays(dtype: Any) -> st.SearchStrategy[Any]:
    """Draw arrays of any shape, which lie in memory in any way."""
    shapes = hn.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
    made = hn.arrays(dtype, shapes)
    ways = [lambda a: a, np.asfortranarray, lambda a: a.T, lambda a: a[::-1] if a.ndim else a]
    return st.builds(lambda array, way: way(array), made, st.sampled_from(ways))


real = st.floats(allow_nan=True, allow_infinity=True)
inner = st.builds(Inner, arrays(np.float32), st.integers(), real, st.none() | st.text(max_size=5))
outer = st.builds(
    Outer,
    arrays(np.bool_),
    st.none() | arrays(np.int64),
    st.tuples(st.integers(), arrays(np.int16)),
    st.lists(st.none() | arrays(np.float64), max_size=3).map(tuple),
    inner,
    st.lists(inner, max_size=2).map(tuple),
    st.booleans(),
)


@settings(max_examples=50)
@given(outer)
def test_what_is_taken_apart_is_put_together_again(value: Outer) -> None:
    found: list[NDArray[Any]] = []
    plain = flattened(value, found)
    check_values(rebuilt(Outer, plain, found), value)


@settings(max_examples=50)
@given(outer)
def test_arrays_are_handed_on_as_they_are(value: Outer) -> None:
    found: list[NDArray[Any]] = []
    flattened(value, found)
    assert found[0] is value.flags
    assert rebuilt(Outer, flattened(value, []), found).inner.floats is value.inner.floats


@pytest.mark.parametrize(
    "value", [[1], {"a": 1}, {1}, np.float32(1), np.int64(1), b"", object(), 1j, (1, [2])]
)
def test_a_state_of_something_else_is_reported(value: object) -> None:
    with pytest.raises(TypeError, match=r"a state may not hold .*arrays, numbers and tuples"):
        flattened(value, [])


scalars = st.none() | st.booleans() | st.integers() | real | st.text(max_size=3)
plains = st.recursive(
    scalars,
    lambda inside: (
        st.lists(inside, max_size=4)
        | st.dictionaries(st.sampled_from(["floats", "whole", "real", "maybe", "x"]), inside)
    ),
    max_leaves=8,
)
KINDS = (
    *(Inner, Outer, int, float, bool, str, int | None, tuple[int, ...], tuple[int, float]),
    *(NDArray[np.float32], NDArray[np.int8] | None, tuple[Inner | None, ...]),
)


@given(st.sampled_from(KINDS), plains, st.lists(st.sampled_from(DTYPES).flatmap(arrays)))
def test_whatever_is_read_fits_or_is_unfit(kind: Any, plain: Any, found: list[Any]) -> None:
    try:
        value = rebuilt(kind, plain, found)
    except UnfitError:
        return
    again: list[NDArray[Any]] = []
    check_values(rebuilt(kind, flattened(value, again), again), value)


@settings(max_examples=50)
@given(outer, st.data())
def test_one_wrong_value_is_noticed(value: Outer, data: st.DataObject) -> None:
    found: list[NDArray[Any]] = []
    plain = flattened(value, found)
    name = data.draw(st.sampled_from(sorted(plain)))
    wrong: Any = data.draw(st.sampled_from([{}, "x", 0.5, -1, 10**30, [[]], True, None]))
    fine = {"yes": (True,), "ids": (None,)}.get(name, ())
    if any(wrong is each for each in fine):
        return
    with pytest.raises(UnfitError):
        rebuilt(Outer, {**plain, name: wrong}, found)


@pytest.mark.parametrize("drop", [True, False])
def test_missing_and_further_fields_are_noticed(drop: bool) -> None:
    value = Inner(np.zeros(3, np.float32), 1, 2.5, None)
    found: list[NDArray[Any]] = []
    plain = flattened(value, found)
    changed = {"floats": 0} if drop else {**plain, "more": 1}
    with pytest.raises(UnfitError, match="the fields floats, whole, real, maybe are wanted"):
        rebuilt(Inner, changed, found)


@pytest.mark.parametrize("dtype", [each for each in DTYPES if each is not np.float32])
def test_arrays_of_another_type_are_noticed(dtype: Any) -> None:
    with pytest.raises(UnfitError, match="stands where float32 is wanted"):
        rebuilt(NDArray[np.float32], 0, [np.zeros(2, dtype)])


@pytest.mark.parametrize(("value", "fits"), [(2, True), (2**53, True), (2**53 + 1, False)])
def test_a_whole_number_may_be_a_float(value: int, fits: bool) -> None:
    if fits:
        check_values(rebuilt(float, value, []), float(value))
        return
    for wrong in (value, -value, 10**400):
        with pytest.raises(UnfitError, match="stands where float is wanted"):
            rebuilt(float, wrong, [])


def test_deep_or_long_values_are_shortened_in_the_message() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    for wrong in (deep, {"x": deep}, "x" * 10_000):
        with pytest.raises(UnfitError) as caught:
            rebuilt(int, wrong, [])
        assert len(str(caught.value)) < 100


@pytest.mark.parametrize("shape", [(), (3, 2)])
def test_arrays_of_any_shape_are_refused_by_types_that_look_at_them(shape: tuple[int, ...]) -> None:
    """An array of no dimension has no length, which is no reason for a traceback."""
    root: list[NDArray[Any]] = [
        np.zeros((1, 4), np.float32),
        np.zeros(shape, np.int64),
        np.zeros(3, np.int64),
    ]
    plain = {"models": 0, "first_child": 1, "directions": 0, "node_of": 2, "rounds": 1}
    with pytest.raises(UnfitError):
        rebuilt(CflState, plain, root)


Number = TypeVar("Number", bound=np.generic)
Aliased = TypeAliasType("Aliased", np.ndarray[Any, np.dtype[Number]], type_params=(Number,))


def test_an_alias_is_what_it_stands_for() -> None:
    """As ``NDArray`` is from NumPy 2.5 on, which Python 3.12 and newer get."""
    kind: Any = Aliased[np.float32]
    array = np.zeros(2, dtype=np.float32)
    assert rebuilt(kind, 0, [array]) is array
    assert unreadable_part(kind, array) is None
    with pytest.raises(UnfitError, match="an array of float64 stands where float32 is wanted"):
        rebuilt(kind, 0, [array.astype(np.float64)])
