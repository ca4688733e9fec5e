"""Steps of models against NumPy's weighted average, and sharing against the formulas."""

from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from flexcfl.aggregation import MEAN, Averaging, Sharing, group_steps, shared, stepped
from flexcfl.protocol import Trained

few = settings(max_examples=40)
RNG = np.random.default_rng(0)  # from which a mean draws nothing
FINITE = st.floats(-1e3, 1e3, width=32)
ROWS = st.integers(1, 12)
Case: TypeAlias = tuple[np.ndarray, np.ndarray, int, np.ndarray]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    rows, columns, groups = draw(ROWS), draw(st.integers(1, 5)), draw(st.integers(1, 4))
    updates = draw(arrays(np.float32, (rows, columns), elements=FINITE))
    group_of = draw(arrays(np.int64, rows, elements=st.integers(0, groups - 1)))
    weights = draw(arrays(np.int64, rows, elements=st.integers(1, 10**6)))
    return updates, group_of, groups, weights


@given(cases())
@few
def test_each_group_gets_the_weighted_average_of_its_own(case: Case) -> None:
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
def test_a_mean_lies_between_what_it_is_the_mean_of(case: Case) -> None:
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


MODELS = arrays(
    np.float32,
    st.tuples(st.integers(1, 5), st.integers(1, 6)),
    elements=st.floats(-100, 100, width=32),
)
RATES = st.floats(0, 10)
SHARINGS = st.sampled_from(["additive", "convex"])


def transcribed(models: np.ndarray, eta_g: float, sharing: Sharing) -> list[np.ndarray]:
    """Algorithm 2, InterGroupAggregation, word by word; then what the released code computes."""
    w = [model.astype(np.float64) for model in models]
    others = [[w_l for w_l in w if w_l is not w_j and w_l.any()] for w_j in w]
    added = [
        w_j + eta_g * sum(w_l / np.linalg.norm(w_l) for w_l in o)
        for w_j, o in zip(w, others, strict=True)
    ]
    if sharing == "additive":
        return added
    return [
        a / (1 + eta_g * sum(1 / np.linalg.norm(w_l) for w_l in o))
        for a, o in zip(added, others, strict=True)
    ]


@given(MODELS, RATES, SHARINGS)
@few
def test_sharing_is_what_the_formulas_say(
    models: np.ndarray, rate: float, sharing: Sharing
) -> None:
    expected = transcribed(models, rate, sharing)
    np.testing.assert_allclose(shared(models, rate, sharing), expected, rtol=1e-5, atol=1e-5)
    assert shared(models, rate, sharing).dtype == np.float32


@given(MODELS, SHARINGS)
@few
def test_sharing_at_rate_zero_changes_nothing(models: np.ndarray, sharing: Sharing) -> None:
    assert np.array_equal(shared(models, 0.0, sharing), models)


@given(MODELS, RATES)
@few
def test_convex_sharing_stays_between_the_models(models: np.ndarray, rate: float) -> None:
    after = shared(models, rate, "convex")
    room = 1e-5 * np.abs(models).max(axis=0)
    assert (after >= models.min(axis=0) - room).all()
    assert (after <= models.max(axis=0) + room).all()


def test_regression_the_two_forms_of_sharing_differ() -> None:
    # The released code does not compute the paper's formula.
    models = np.array([[3.0, 4.0], [0.0, 2.0]], np.float32)
    additive, convex = shared(models, 1.0, "additive"), shared(models, 1.0, "convex")
    assert additive.tolist() == [[3.0, 5.0], [pytest.approx(0.6), pytest.approx(2.8)]]
    assert convex.tolist() == [
        [pytest.approx(3 / 1.5), pytest.approx(5 / 1.5)],
        [pytest.approx(0.6 / 1.2), pytest.approx(2.8 / 1.2)],
    ]
