"""Inter-group sharing against the formulas as written."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from flexcfl.aggregation import Sharing, shared

few = settings(max_examples=40)
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
