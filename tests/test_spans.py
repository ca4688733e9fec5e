"""Client numbers as people write them."""

import sys
from contextlib import suppress
from types import FrameType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexcfl.protocol import numbers, spans


@given(st.sets(st.integers(0, 300), min_size=1))
def test_what_is_written_is_read(clients: set[int]) -> None:
    written = spans(np.array(list(clients)))
    assert numbers(written).tolist() == sorted(clients)
    assert numbers(written.replace(" ", ", ")).tolist() == sorted(clients)


@given(st.sets(st.integers(0, 300), min_size=1))
def test_neighbours_are_one_span(clients: set[int]) -> None:
    ends = sum(client + 1 not in clients for client in clients)
    assert len(spans(np.array(list(clients))).split()) == ends


def test_very_many_are_written_without_a_step_for_each() -> None:
    clients = np.random.default_rng(0).choice(10**6, 50_000, replace=False)
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        written = spans(clients)
    finally:
        sys.setprofile(before)
    assert calls < 100
    assert np.array_equal(numbers(written), np.sort(clients))


def test_nobody_is_nothing() -> None:
    assert spans(np.empty(0, dtype=np.int64)) == ""


@pytest.mark.parametrize(
    "text", ["", " ", "a", "-1", "3-1", "1-", "1..3", "0-9;", "1.5", "٣-", "1" * 10, "0-99999999"]
)
def test_what_is_no_list_of_numbers(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a list of numbers|more than"):
        numbers(text)


@given(st.text(max_size=12))
def test_any_text_is_numbers_or_a_sentence(text: str) -> None:
    with suppress(ValueError):
        found = numbers(text)
        assert found.dtype == np.int64
        assert (np.diff(found) > 0).all()
