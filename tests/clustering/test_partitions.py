"""Partitions: exactly the groups asked for, none empty, against plain and exhaustive search."""

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from flexcfl.clustering import bipartition, complete_linkage, k_means
from flexcfl.clustering.partitions import distinct
from flexcfl.errors import TrainingError
from flexcfl.protocol import Ids

Square = NDArray[np.float64]


@st.composite
def symmetric(draw: st.DrawFn, least: int = 2, most: int = 7) -> Square:
    """Draw a matrix of pairs from few values, so that there are ties."""
    size = draw(st.integers(least, most))
    values = draw(arrays(np.float64, (size, size), elements=st.integers(0, 6).map(float)))
    upper = np.triu(values, 1)
    return np.asarray(upper + upper.T)


def generator() -> np.random.Generator:
    return np.random.default_rng(0)


def exactly(group_of: Ids, groups: int) -> bool:
    """Whether the groups have this number, are not empty, and are numbered by first appearance."""
    first = [int(np.flatnonzero(group_of == group)[0]) for group in range(group_of.max() + 1)]
    return len(first) == groups and first == sorted(first)


def test_k_means_finds_clear_groups() -> None:
    rng = generator()
    truth = np.array([0, 1, 2, 1, 0, 2, 2, 1])
    points = np.eye(3)[truth] + rng.normal(0, 0.02, (8, 3))
    assert k_means(points, 3, rng).tolist() == truth.tolist()


@settings(max_examples=40)
@given(
    arrays(np.float64, (8, 2), elements=st.integers(-3, 3).map(lambda value: value / 7)),
    st.integers(1, 8),
)
def test_k_means_makes_exactly_the_groups_asked_for(points: Square, groups: int) -> None:
    assume(distinct(points) >= groups)
    assert exactly(k_means(points, groups, generator()), groups)


def test_k_means_draws_from_the_generator_alone() -> None:
    points = generator().uniform(-1, 1, (40, 2))
    first, again = (k_means(points, 4, generator()) for _ in range(2))
    assert first.tolist() == again.tolist()


@pytest.mark.parametrize("apart", [0.0, 1e-9])
def test_too_few_different_points_are_reported(apart: float) -> None:
    points = np.array([[0.5, 0.1], [0.5, 0.1 + apart], [0.2, 0.1], [0.2, 0.1]])
    with pytest.raises(TrainingError, match="updates is 2, too few for 3 groups: ask for fewer"):
        k_means(points, 3, generator())


def linked(distances: Square, groups: int) -> set[frozenset[int]]:
    parts = [frozenset([client]) for client in range(len(distances))]
    while len(parts) > groups:
        pairs = [(a, b) for i, a in enumerate(parts) for b in parts[:i]]
        one, two = min(
            pairs, key=lambda pair: distances[np.ix_(list(pair[0]), list(pair[1]))].max()
        )
        parts = [part for part in parts if part not in (one, two)] + [one | two]
    return set(parts)


@given(st.integers(0, 10**6), st.integers(2, 8), st.data())
def test_complete_linkage_merges_the_nearest_first(
    seed: int, size: int, data: st.DataObject
) -> None:
    upper = np.triu(np.random.default_rng(seed).uniform(0, 2, (size, size)), 1)
    groups = data.draw(st.integers(1, size))
    group_of = complete_linkage(upper + upper.T, groups)
    found = {frozenset(np.flatnonzero(group_of == group).tolist()) for group in range(groups)}
    assert found == linked(upper + upper.T, groups)


@given(symmetric(), st.data())
def test_complete_linkage_makes_exactly_the_groups_asked_for(
    distances: Square, data: st.DataObject
) -> None:
    groups = data.draw(st.integers(1, len(distances)))
    assert exactly(complete_linkage(distances, groups), groups)


def test_one_client_is_one_group() -> None:
    assert complete_linkage(np.zeros((1, 1)), 1).tolist() == [0]
    assert k_means(np.ones((1, 1)), 1, generator()).tolist() == [0]


def largest_across(similarity: Square, apart: NDArray[np.bool_]) -> float:
    return float(similarity[np.ix_(apart, ~apart)].max())


@given(symmetric())
def test_no_division_in_two_has_a_smaller_largest_similarity(pairs: Square) -> None:
    similarity = pairs / 3 - 1
    np.fill_diagonal(similarity, 1)
    apart = bipartition(similarity)
    assert apart.dtype == np.bool_
    assert not apart[0]
    divisions = (np.array([False, *rest]) for rest in product([False, True], repeat=len(pairs) - 1))
    best = min(largest_across(similarity, each) for each in divisions if each.any())
    assert largest_across(similarity, apart) == pytest.approx(best, abs=1e-12)


def test_the_division_in_two_of_opposite_groups() -> None:
    sides = np.array([1, -1, 1, -1, -1])
    similarity = np.where(np.equal.outer(sides, sides), 0.4, -0.2)
    np.fill_diagonal(similarity, 1)
    assert bipartition(similarity).tolist() == (sides < 0).tolist()


def test_one_client_cannot_be_divided() -> None:
    with pytest.raises(ValueError, match="1 clients cannot form 2 groups"):
        bipartition(np.ones((1, 1)))
