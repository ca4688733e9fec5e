"""The mean of groups against NumPy's weighted average, and the steps that models take."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from flexcfl.aggregation import MEAN, Averaging, group_steps, stepped
from flexcfl.protocol import Trained

few = settings(max_examples=40)
RNG = np.random.default_rng(0)  # from which a mean draws nothing
FINITE = st.floats(-1e3, 1e3, width=32)
ROWS = st.integers(1, 12)


@st.composite
def cases(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, int, np.ndarray]:
    rows, columns, groups = draw(ROWS), draw(st.integers(1, 5)), draw(st.integers(1, 4))
    updates = draw(arrays(np.float32, (rows, columns), elements=FINITE))
    group_of = draw(arrays(np.int64, rows, elements=st.integers(0, groups - 1)))
    weights = draw(arrays(np.int64, rows, elements=st.integers(1, 10**6)))
    return updates, group_of, groups, weights


@given(cases())
@few
def test_each_group_gets_the_weighted_average_of_its_own(
    case: tuple[np.ndarray, np.ndarray, int, np.ndarray],
) -> None:
    updates, group_of, groups, weights = case
    means = group_steps(MEAN, updates, group_of, groups, weights, RNG)
    assert means.shape == (groups, updates.shape[1])
    assert means.dtype == np.float32
    for group in range(groups):
        own = group_of == group
        expected = (
            np.average(updates[own].astype(np.float64), axis=0, weights=weights[own])
            if own.any()
            else np.zeros(updates.shape[1])
        )
        np.testing.assert_allclose(means[group], expected, rtol=1e-6, atol=1e-6)


@given(cases())
@few
def test_a_mean_lies_between_what_it_is_the_mean_of(
    case: tuple[np.ndarray, np.ndarray, int, np.ndarray],
) -> None:
    updates, _, _, weights = case
    mean = group_steps(MEAN, updates, np.zeros(len(updates), np.int64), 1, weights, RNG)[0]
    assert (mean >= updates.min(axis=0)).all()
    assert (mean <= updates.max(axis=0)).all()


def test_sums_do_not_lose_small_updates_beside_large_ones() -> None:
    # In float32 the ones would vanish beside 2**25.
    updates = np.array([[2.0**25], *[[1.0]] * 4, [-(2.0**25)]], dtype=np.float32)
    mean = group_steps(MEAN, updates, np.zeros(6, np.int64), 1, np.ones(6), RNG)
    assert mean.item() == np.float32(4 / 6)


def test_nobody_answered() -> None:
    nothing = np.empty((0, 3), np.float32)
    means = group_steps(MEAN, nothing, np.empty(0, np.int64), 2, np.empty(0, np.int64), RNG)
    assert not means.any()
    assert means.shape == (2, 3)


def test_weights_that_are_all_zero_give_no_step() -> None:
    means = group_steps(MEAN, np.ones((2, 3), np.float32), np.array([0, 0]), 1, np.zeros(2), RNG)
    assert not means.any()


def test_inputs_are_left_alone() -> None:
    updates = np.ones((2, 3), np.float32)
    group_steps(MEAN, updates, np.array([0, 0]), 1, np.array([1, 2]), RNG)
    assert (updates == 1).all()


def test_an_update_without_a_group_is_not_added_to_the_last_one() -> None:
    with pytest.raises(ValueError, match="no group"):
        group_steps(MEAN, np.ones((1, 3), np.float32), np.array([-1]), 2, np.ones(1), RNG)


@pytest.mark.parametrize(("averaging", "mean"), [("simple", 6.0), ("examples", 7.5)])
def test_a_mean_may_count_clients_or_examples(averaging: Averaging, mean: float) -> None:
    clients, examples = np.array([4, 7]), np.array([3, 9])
    updates = np.array([[3], [9]], np.float32)
    trained = Trained(clients, updates, examples, np.zeros(2), np.array([1, 1]))
    models = np.array([[1], [2]], np.float32)
    assert stepped(models, trained, MEAN, RNG, averaging).tolist() == [[1.0], [2.0 + mean]]
