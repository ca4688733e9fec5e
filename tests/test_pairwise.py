"""The combinations by which full products of parameters are thinned."""

from collections.abc import Iterable
from itertools import product
from math import prod
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pairwise import pairs, pairwise

LISTS = st.lists(
    st.lists(st.integers(), min_size=1, max_size=5, unique=True), min_size=2, max_size=4
)


def union(rows: Iterable[Any]) -> set[Any]:
    return {pair for row in rows for pair in pairs(row)}


@given(LISTS)
def test_any_two_values_meet_and_no_combination_is_there_for_nothing(
    lists: list[list[int]],
) -> None:
    chosen = pairwise(*lists)
    assert union(chosen) == union(product(*lists))
    for number in range(len(chosen)):
        assert pairs(chosen[number]) - union(chosen[:number])
    largest = sorted(map(len, lists))[-2:]
    assert prod(largest) <= len(chosen) <= prod(map(len, lists))
    assert pairwise(*lists) == chosen


@pytest.mark.parametrize(("sizes", "few"), [((3, 4, 3), 12), ((5, 7, 4), 40), ((12, 7, 4, 2), 90)])
def test_they_are_few(sizes: tuple[int, ...], few: int) -> None:
    assert len(pairwise(*map(range, sizes))) <= few
