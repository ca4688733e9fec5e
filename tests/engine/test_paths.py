"""All ways of training a cohort are one: the plain loop is the definition."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from flexcfl.engine import PathName
from flexcfl.engine.schedule import draw_batches
from flexcfl.protocol import Local
from tests.engine.cohorts import MODULES, Cohort

LOCALS = {
    "epochs": Local(epochs=3, rate=0.05),
    "steps": Local(steps=7, batch=16, rate=0.05),
    "one step": Local(steps=1, rate=0.05),
    "penalties": Local(epochs=2, rate=0.05, l2=0.01, prox=0.7),
    "whole data": Local(epochs=2, batch=10_000, rate=0.05),
}
FASTER: list[tuple[str, PathName]] = [
    *((name, "stacked") for name in MODULES),
    ("logistic regression", "dense"),
    ("perceptron", "dense"),
    ("logistic regression", "compiled"),
    ("perceptron", "compiled"),
]


def assert_equal_to_the_plain_loop(
    cohort: Cohort, module: str, path: PathName, local: Local
) -> None:
    expected, expected_loss = cohort.train(cohort.engine(module, "reference"), local)
    updates, loss = cohort.train(cohort.engine(module, path), local)
    assert np.abs(expected).max() > 1e-4
    np.testing.assert_allclose(updates, expected, atol=1e-5)
    np.testing.assert_allclose(loss, expected_loss, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("local", LOCALS.values(), ids=LOCALS.keys())
@pytest.mark.parametrize(("module", "path"), FASTER)
def test_faster_paths_equal_the_plain_loop(
    module: str, path: PathName, local: Local, cohort: Cohort
) -> None:
    assert_equal_to_the_plain_loop(cohort, module, path, local)


@pytest.mark.parametrize(("module", "path"), FASTER)
def test_faster_paths_equal_the_plain_loop_for_one_client(module: str, path: PathName) -> None:
    cohort, local = Cohort((24,)), LOCALS["penalties"]
    assert_equal_to_the_plain_loop(cohort, module, path, local)


@settings(max_examples=15)
@given(
    sizes=st.lists(st.integers(1, 60), min_size=1, max_size=40),
    batch=st.integers(1, 20),
    epochs=st.integers(1, 3),
    prox=st.sampled_from([0.0, 0.5]),
)
@pytest.mark.parametrize("path", ["stacked", "dense", "compiled"])
def test_faster_paths_equal_the_plain_loop_on_any_cohort(
    path: PathName, sizes: list[int], batch: int, epochs: int, prox: float
) -> None:
    cohort = Cohort(tuple(sizes))
    local = Local(epochs=epochs, batch=batch, rate=0.02, prox=prox)
    # Without hidden units: one that happens to be at the kink of its ReLU is on or off by rounding,
    # and among so many cohorts some have one. The cohorts above have them.
    assert_equal_to_the_plain_loop(cohort, "logistic regression", path, local)


def test_the_plain_loop_is_what_torch_does(cohort: Cohort) -> None:
    """Written out with nothing of the engine's but the batches that it drew."""
    engine = cohort.engine("perceptron", "reference")
    local = Local(epochs=2, rate=0.05)
    updates, loss = cohort.train(engine, local)
    for client, examples in enumerate(cohort.examples()):
        start = engine.initial(np.random.default_rng(client % 3))
        module = engine.module(start).train()
        optimizer = torch.optim.SGD(module.parameters(), lr=local.rate)
        schedule = draw_batches(examples, local, np.random.default_rng(100 + client))
        losses: list[float] = []
        for rows, count in zip(schedule.rows, schedule.counts, strict=True):
            chosen = torch.from_numpy(rows[:count])
            optimizer.zero_grad()
            logits = module(engine.pool.x[chosen])
            value = torch.nn.functional.cross_entropy(logits, engine.pool.y[chosen])
            value.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            losses += [value.item()] * int(count)
        trained = torch.nn.utils.parameters_to_vector(module.parameters()).detach().numpy()
        np.testing.assert_allclose(updates[client], trained - start, atol=1e-6)
        assert loss[client] == pytest.approx(np.mean(losses[-len(examples) :]), abs=1e-5)


def test_a_proximal_term_keeps_models_near_their_start(module: str, cohort: Cohort) -> None:
    engine = cohort.engine(module)
    free, _ = cohort.train(engine, Local(epochs=5, rate=0.05))
    held, _ = cohort.train(engine, Local(epochs=5, rate=0.05, prox=5.0))
    assert np.linalg.norm(held) < 0.9 * np.linalg.norm(free)


def test_the_l2_penalty_acts_on_matrices_and_not_on_biases(cohort: Cohort) -> None:
    engine = cohort.engine("logistic regression")
    plain, _ = cohort.train(engine, Local(steps=1, rate=0.1))
    decayed, _ = cohort.train(engine, Local(steps=1, rate=0.1, l2=0.05))
    for client, difference in enumerate(decayed - plain):
        start = engine.unflatten(engine.initial(np.random.default_rng(client % 3)))
        named = engine.unflatten(difference)
        np.testing.assert_allclose(
            named["1.weight"], -0.1 * 2 * 0.05 * start["1.weight"], atol=1e-6
        )
        np.testing.assert_allclose(named["1.bias"], 0, atol=1e-7)
