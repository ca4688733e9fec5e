"""Placement by the best aligned direction (Eq. 8), against scikit-learn's cosines."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import cosine_similarity

from flexcfl.clustering import best_aligned, measures
from flexcfl.protocol import NO_GROUP, Vectors

SEEDS = st.integers(0, 10**6)
few_times = settings(max_examples=30)


def vectors(seed: int, *shape: int) -> Vectors:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@few_times
@given(SEEDS, st.integers(1, 40))
def test_the_smallest_dissimilarity_wins(seed: int, block: int) -> None:
    updates, directions = vectors(seed, 6, 11), vectors(seed + 1, 4, 11)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measures, "BLOCK", block)
        group_of = best_aligned(updates, directions)
    expected = cosine_similarity(updates.astype(np.float64), directions.astype(np.float64))
    assert group_of.tolist() == ((1 - expected) / 2).argmin(axis=1).tolist()
    assert group_of.dtype == np.int64


@few_times
@given(SEEDS, st.integers(-60, 60), st.integers(-60, 60))
def test_lengths_do_not_matter(seed: int, one: int, other: int) -> None:
    updates, directions = vectors(seed, 5, 8), vectors(seed + 1, 3, 8)
    scaled = updates * np.float32(2.0**one), directions * np.float32(2.0**other)
    assert best_aligned(*scaled).tolist() == best_aligned(updates, directions).tolist()


def test_the_first_of_equals_is_taken() -> None:
    directions = np.array([[-1, 0], [2, 0], [5, 0]], np.float32)
    assert best_aligned(np.array([[3, 0]], np.float32), directions).tolist() == [1]


def test_a_zero_vector_has_cosine_zero() -> None:
    directions = np.array([[-1, 0], [0, 0]], np.float32)
    group_of = best_aligned(np.array([[3, 0], [0, 0]], np.float32), directions)
    assert group_of.tolist() == [1, 0]


def test_small_numbers_count_next_to_large_ones() -> None:
    # In float32 the ones would vanish next to 2**26, and the first direction would win.
    update = np.array([[2.0**13, 1, 1, 1]], np.float32)
    directions = np.array([[2.0**13, 1, 0, 0], [2.0**13, 1, 1, 0]], np.float32)
    assert best_aligned(update, directions).tolist() == [1]


def test_nobody_to_place() -> None:
    assert best_aligned(np.empty((0, 2), np.float32), np.ones((3, 2), np.float32)).shape == (0,)


@pytest.mark.parametrize("strange", [np.nan, np.inf, -np.inf])
def test_an_update_that_is_not_finite_has_no_group(strange: float) -> None:
    updates = np.array([[1, 0], [strange, 0], [2, strange], [strange, strange]], np.float32)
    group_of = best_aligned(updates, np.array([[0, 1], [1, 0]], np.float32))
    assert group_of.tolist() == [1, NO_GROUP, NO_GROUP, NO_GROUP]
