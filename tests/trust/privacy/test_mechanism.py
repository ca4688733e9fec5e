"""Clipping as a property, and noise by its moments."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from flexcfl.aggregation import Rule, group_steps, norms
from flexcfl.trust.privacy import PrivateMean
from flexcfl.trust.privacy.mechanism import clipped, noised

ROWS = arrays(
    np.float32,
    st.tuples(st.integers(1, 4), st.integers(1, 6)),
    elements=st.floats(width=32, allow_nan=True, allow_infinity=True),
)
BOUNDS = st.floats(1e-6, 1e6)


@given(ROWS, BOUNDS)
@settings(max_examples=100, deadline=None)
def test_no_row_is_longer_than_the_bound_and_short_ones_are_left_alone(
    vectors: np.ndarray, bound: float
) -> None:
    before = vectors.copy()
    short = clipped(vectors, bound)
    np.testing.assert_array_equal(vectors, before)
    assert short.dtype == np.float32
    for old, new in zip(vectors, short, strict=True):
        length = float(norms(new[np.newaxis])[0])
        assert length <= bound
        exact = old.astype(np.float64)
        if not np.isfinite(exact).all():
            assert not new.any()
        elif np.sqrt(np.square(exact).sum()) <= bound * (1 - 1e-9):
            np.testing.assert_array_equal(new.view(np.uint32), old.view(np.uint32))
        elif np.sqrt(np.square(exact).sum()) > bound * (1 + 1e-9):
            assert length > bound * (1 - 1e-6)
            cosine = exact @ new / np.sqrt(np.square(exact).sum()) / length
            assert cosine > 1 - 1e-6


def test_noise_has_the_deviation_that_it_should_and_leaves_the_middle_alone() -> None:
    vector = np.full(200_000, 3, dtype=np.float32)
    noise = noised(vector, 0.5, np.random.default_rng(0)).astype(np.float64) - 3
    assert abs(noise.std() / 0.5 - 1) < 0.01
    assert abs(noise.mean()) < 0.005
    assert abs(np.mean(noise**4) / 0.5**4 - 3) < 0.1  # as of a normal distribution


def test_the_mean_of_a_group_is_noised_once_and_believes_no_weights() -> None:
    parameters, rule = 100_000, PrivateMean(clip=2.0, noise=3.0)
    updates = np.zeros((5, parameters), dtype=np.float32)
    updates[:, 0] = [1e9, -1e9, 1, 1, 99]  # clipped to 2, -2, 1 and 1; the last is of another group
    rows, weights = np.arange(4), np.array([10**9, 1, 1, 1, 1])
    step = rule(updates, rows, weights, np.random.default_rng(1)) * 4
    silent = rule(np.zeros_like(updates), rows, weights, np.random.default_rng(1)) * 4
    assert abs(silent.std() / 6.0 - 1) < 0.01
    np.testing.assert_allclose((step - silent)[:2], [2, 0], atol=1e-9)
    again = rule(updates, rows, weights[::-1].copy(), np.random.default_rng(1)) * 4
    np.testing.assert_array_equal(again, step)


def test_it_is_a_rule_of_aggregation() -> None:
    rule: Rule = PrivateMean(clip=1.0, noise=1e-9)
    updates = np.array([[3, 4], [0, 0.5], [1, 0]], dtype=np.float32)
    group_of = np.array([2, 2, 0])
    steps = group_steps(rule, updates, group_of, 3, np.ones(3), np.random.default_rng(0))
    expected = np.array([[1, 0], [0, 0], [0.3, 0.65]])
    np.testing.assert_allclose(steps, expected, atol=1e-6)


def test_what_is_not_finite_does_not_spoil_a_group() -> None:
    updates = np.array([[np.nan, 1], [np.inf, 1], [1, 0]], dtype=np.float32)
    rule = PrivateMean(clip=1.0, noise=1e-9)
    step = rule(updates, np.arange(3), np.ones(3), np.random.default_rng(0))
    np.testing.assert_allclose(step, [1 / 3, 0], atol=1e-6)
