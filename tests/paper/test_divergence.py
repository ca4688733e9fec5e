"""The bound: it holds, it is met where it can be, and the check can fail."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexcfl.paper.divergence import PROVED, holds, measure_divergence
from flexcfl.paper.regression import ClientExamples, descend, gradient, group_loss, loss

few = settings(max_examples=40)
SEEDS = st.integers(0, 2**32 - 1)
RATES = st.floats(1e-3, 10)
CLASSES = 3


def drawn(
    rng: np.random.Generator, scale: float = 1.0
) -> tuple[list[list[ClientExamples]], np.ndarray]:
    """Return groups of clients of all sizes, whose examples differ, and a model for each group."""
    features = int(rng.integers(1, 5))
    groups = [
        [client(rng, features, scale) for _ in range(rng.integers(1, 5))]
        for _ in range(rng.integers(1, 4))
    ]
    return groups, rng.normal(0, 1, (len(groups), CLASSES * (features + 1)))


def labelled(zeros: int, ones: int, x: Sequence[float] = (1.0,)) -> ClientExamples:
    """Return a client with one example many times, under two labels."""
    labels = np.repeat([0, 1], [zeros, ones])
    return ClientExamples.of(np.tile(x, (len(labels), 1)), labels)


def client(rng: np.random.Generator, features: int, scale: float) -> ClientExamples:
    examples = int(rng.integers(1, 9))
    x = rng.normal(rng.normal(0, scale, features), scale, (examples, features))
    return ClientExamples.of(x, rng.integers(0, CLASSES, examples))


# One that leans to either label a little: together they stay at zero, each alone leaves it.
LEANING = [labelled(51, 49), labelled(49, 51)]
CALM = np.zeros(4)


@given(SEEDS, RATES, st.floats(0, 10))
@few
def test_the_bound_holds_for_every_client_and_group(seed: int, rate: float, eta_g: float) -> None:
    groups, models = drawn(np.random.default_rng(seed))
    found = holds(measure_divergence(groups, models, rate, epochs=6, eta_g=eta_g))
    assert all(found[name] for name in PROVED), found


def test_models_and_losses_are_the_paper_s_step_by_step() -> None:
    groups, models = drawn(np.random.default_rng(3))
    members, model = [member for group in groups for member in group], models[0]
    sizes = [len(member.y) for member in members]
    together = ClientExamples(
        np.vstack([m.x for m in members]), np.concatenate([m.y for m in members])
    )
    descent = descend(members, model, 0.1, 3)
    own, virtual = [model] * len(members), model
    for epoch in range(1, 4):
        own = [w - 0.1 * gradient(w, each) for w, each in zip(own, members, strict=True)]
        virtual = virtual - 0.1 * gradient(virtual, together)
        np.testing.assert_allclose(descent.virtual[epoch], virtual)
        np.testing.assert_allclose(descent.federated[epoch], np.average(own, 0, sizes))
        distances = [np.linalg.norm(w - virtual) for w in own]
        np.testing.assert_allclose(descent.distances[epoch], distances)
    np.testing.assert_allclose(group_loss(virtual, members), loss(virtual, together))


def test_one_step_meets_the_bound() -> None:
    groups, models = drawn(np.random.default_rng(4))
    found = measure_divergence(groups, models, rate=0.3, epochs=1)
    assert found.deltas.max() > 0.1
    np.testing.assert_allclose(found.clients[1], 0.3 * found.deltas, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(found.clients[1], found.client_bounds[1], rtol=1e-12, atol=1e-15)
    # Means of steps are steps on means: after one epoch there is nothing between the models.
    assert found.groups[1].max() < 1e-15


def test_models_do_come_apart_exponentially_where_the_rate_is_too_large_for_the_curvature() -> None:
    # Along the way to its minimum a client's step is 1 - rate L, here -2, and the bound's is 4.
    found = measure_divergence([LEANING], CALM[None], rate=3.0, epochs=4)
    assert found.smoothness == pytest.approx(1.0)
    lengths = found.clients[:, 0] / found.clients[1, 0]
    np.testing.assert_allclose(lengths, [0, 1, 1, 3, 5], rtol=0.05)
    np.testing.assert_allclose(found.client_bounds[:, 0] / found.clients[1, 0], [0, 1, 5, 21, 85])


def test_a_delta_that_is_too_small_is_found_out() -> None:
    found = measure_divergence([LEANING], CALM[None], rate=0.1, epochs=3)
    assert holds(found)["lemma"]
    assert not holds(replace(found, deltas=0.99 * found.deltas))["lemma"]
    elsewhere = found.deltas * [1.0, 0.99]
    assert not holds(replace(found, deltas=elsewhere))["lemma"]  # for one client alone


def test_an_l_that_is_too_small_is_found_out() -> None:
    # Of no use with small rates: for those a convex loss needs no L at all (convex_bounds).
    found = measure_divergence([LEANING], CALM[None], rate=6.0, epochs=3)
    assert holds(found)["lemma"]
    small = replace(found, smoothnesses=0.1 * found.smoothnesses)
    assert not holds(small)["lemma"]
    assert not holds(small)["convex"]


def test_an_m_or_a_group_s_delta_that_is_too_small_is_found_out() -> None:
    members = [labelled(9, 1, x=[3.0]), labelled(1, 3, x=[-2.0])]
    found = measure_divergence([members], np.array([[1.0, -1.0, 0.0, 0.0]]), rate=0.5, epochs=3)
    assert holds(found)["theorem"]
    too_small = 0.9 * (found.gaps[2:] / found.group_bounds[2:]).max()
    assert not holds(replace(found, lipschitz=too_small))["theorem"]
    too_small = 0.9 * (found.groups[2:] / found.group_bounds[2:]).max()
    assert not holds(replace(found, deltas=too_small * found.deltas))["groups"]


def test_sharing_needs_the_m_that_the_paper_leaves_out() -> None:
    # Two groups of one client each, so that delta is zero, whose labels are each other's opposite:
    # what one learnt is the worst direction for the other, and examples of length 10 make it steep.
    groups = [[labelled(5, 0, x=[10.0])], [labelled(0, 5, x=[10.0])]]
    models = np.array([[-0.1, 0.1, 0.0, 0.0], [-0.1, 0.1, 0.0, 0.0]])
    found = measure_divergence(groups, models, rate=1e-4, epochs=2, eta_g=0.1)
    assert found.delta == 0
    assert found.lipschitz > 14
    held = holds(found)
    assert held["shared"]
    assert not held["printed"]
    assert found.shared_gaps[0, 0] > 10 * found.printed_bounds[0, 0]


def test_sharing_at_rate_zero_or_with_one_group_is_theorem_1() -> None:
    groups, models = drawn(np.random.default_rng(0))
    alone = measure_divergence(groups, models, rate=0.1, epochs=2, eta_g=0.0)
    one = measure_divergence(groups[:1], models[:1], rate=0.1, epochs=2, eta_g=5.0)
    for found in (alone, one):
        np.testing.assert_array_equal(found.shared_gaps, found.gaps)
        np.testing.assert_array_equal(found.shared_bounds, found.gap_bounds)
        np.testing.assert_array_equal(found.printed_bounds, found.gap_bounds)


def test_the_paper_s_delta_over_all_groups_bounds_no_single_group() -> None:
    # Nobody differs in the large group, so that the mean over all groups is next to nothing.
    small = [labelled(9, 1, x=[1.0]), labelled(1, 3, x=[-2.0])]
    large = [labelled(50_000, 50_000)]
    found = measure_divergence([small, large], np.zeros((2, 4)), rate=0.5, epochs=5)
    held = holds(found)
    assert held["groups"]
    assert not held["averaged"]
