"""Logistic regression against torch's autograd, and its constants against its own Hessian."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import cross_entropy

from flexcfl.engine.flat import Layout
from flexcfl.models.networks import dense
from flexcfl.paper.regression import ClientExamples, gradient, lipschitz, loss, smoothness

few = settings(max_examples=30)
SEEDS = st.integers(0, 2**32 - 1)
CLASSES = 4


def drawn(seed: int) -> tuple[np.ndarray, ClientExamples]:
    rng = np.random.default_rng(seed)
    scale, features = 10 ** rng.uniform(-1, 1), int(rng.integers(1, 7))
    y = rng.integers(0, CLASSES, rng.integers(1, 12))
    x = rng.normal(0, scale, (len(y), features))
    return rng.normal(0, 1, CLASSES * (features + 1)), ClientExamples.of(x, y)


@given(SEEDS)
@few
def test_loss_and_gradient_are_those_of_the_projects_own_model(seed: int) -> None:
    model, examples = drawn(seed)
    features = examples.x.shape[1] - 1
    module = dense((features,), (), CLASSES).double()
    layout = Layout(module)
    parameters = layout.split(torch.from_numpy(model).requires_grad_())
    x = torch.from_numpy(examples.x[:, :-1])
    logits = torch.func.functional_call(module, parameters, (x,))
    value = cross_entropy(logits, torch.from_numpy(examples.y))
    slopes = torch.autograd.grad(value, list(parameters.values()))
    expected = layout.join(dict(zip(parameters, slopes, strict=True)))
    np.testing.assert_allclose(loss(model, examples), value.item(), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(gradient(model, examples), expected, rtol=1e-9, atol=1e-12)


@given(SEEDS)
@few
def test_no_curvature_is_above_l_and_no_slope_above_m(seed: int) -> None:
    model, examples = drawn(seed)
    rng = np.random.default_rng(seed)
    others = model + rng.normal(0, 10 ** rng.uniform(-3, 1), (20, len(model)))
    for other in others:
        distance = np.linalg.norm(other - model)
        slopes = np.linalg.norm(gradient(other, examples) - gradient(model, examples))
        assert slopes <= smoothness(examples) * distance * (1 + 1e-9)
        heights = abs(loss(other, examples) - loss(model, examples))
        assert heights <= lipschitz(examples) * distance * (1 + 1e-9)


def test_l_and_m_are_attained() -> None:
    # Two classes between which the model cannot tell have the largest curvature, and a model that
    # is sure and wrong the largest slope.
    examples = ClientExamples.of([[3.0]], [0])
    up = np.array([3.0, -3.0, 1.0, -1.0])  # the weights and biases that raise class 0 most
    step = 1e-4 * up / np.linalg.norm(up)
    slopes = np.linalg.norm(gradient(step, examples) - gradient(-step, examples))
    np.testing.assert_allclose(slopes / 2e-4, smoothness(examples), rtol=1e-6)
    wrong = np.linalg.norm(gradient(-10 * up, examples))
    np.testing.assert_allclose(wrong, lipschitz(examples), rtol=1e-9)


def test_the_eigenvalue_is_the_same_from_either_side() -> None:
    x = np.random.default_rng(0).normal(size=(5, 9))
    few_rows, many = (
        ClientExamples.of(x, np.zeros(5)),
        ClientExamples.of(np.tile(x, (4, 1)), np.zeros(20)),
    )
    np.testing.assert_allclose(smoothness(few_rows), smoothness(many))


def test_large_logits_overflow_nothing() -> None:
    examples = ClientExamples.of([[1000.0]], [1])
    model = np.array([1000.0, -1000.0, 0.0, 0.0])
    assert loss(model, examples) == 2e6
    assert np.isfinite(gradient(model, examples)).all()
