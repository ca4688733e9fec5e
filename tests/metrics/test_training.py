"""The cohort's loss and discrepancy."""

import numpy as np
import pytest

from flexcfl.metrics import cohort_loss, discrepancy
from flexcfl.protocol import Evaluate, Evaluated, Exchange, Ids, Local, Serving, Train, Trained


def exchange(
    models: np.ndarray, clients: Ids, model_of: Ids, answering: Ids, updates: np.ndarray
) -> Exchange:
    order = Train(clients, models, model_of, Local())
    examples = answering + 1
    return order, Trained(answering, updates, examples, answering.astype(float))


def test_discrepancy_is_equation_3_for_groups_and_silent_clients() -> None:
    rng = np.random.default_rng(0)
    old, new = (rng.normal(size=(2, 5)).astype(np.float32) for _ in range(2))
    clients, model_of = np.array([8, 3, 5, 1]), np.array([1, 0, 1, 0])
    answering = np.array([8, 5, 1])
    updates = rng.normal(size=(3, 5)).astype(np.float32)
    new_group = np.zeros(10, np.int64)
    new_group[[8, 1]] = 1  # since then, 5 and 1 have changed groups

    serving = Serving(new, new_group)
    expected = np.mean(
        [
            np.linalg.norm(old[1] + updates[0] - new[1]),
            np.linalg.norm(old[1] + updates[1] - new[0]),
            np.linalg.norm(old[0] + updates[2] - new[1]),
        ]
    )
    found = discrepancy([exchange(old, clients, model_of, answering, updates)], serving)
    assert found == pytest.approx(expected, rel=1e-6)


def test_discrepancy_of_one_client_alone_is_nothing() -> None:
    model, update = np.full((1, 3), 0.5, np.float32), np.full((1, 3), 0.25, np.float32)
    one, zero = np.array([0]), np.array([0])
    serving = Serving(model + update, zero)
    assert discrepancy([exchange(model, one, zero, one, update)], serving) == 0.0


def test_loss_is_weighted_by_examples_over_all_training_orders() -> None:
    models, nothing = np.zeros((1, 2), np.float32), np.zeros((2, 2), np.float32)
    group = np.zeros(2, np.int64)
    first = exchange(models, np.array([1, 2]), group, np.array([1, 2]), nothing)
    second = exchange(models, np.array([4, 5]), group, np.array([4, 5]), nothing)
    expected = (1 * 2 + 2 * 3 + 4 * 5 + 5 * 6) / (2 + 3 + 5 + 6)
    assert cohort_loss([first, second]) == pytest.approx(expected)


def test_where_nobody_trains_there_is_neither() -> None:
    ids = np.empty(0, np.int64)
    models = np.zeros((1, 2), np.float32)
    silent = exchange(models, np.array([0]), np.array([0]), ids, np.empty((0, 2), np.float32))
    one = np.array([0])
    measured: Exchange = (
        Evaluate(one, models, one),
        Evaluated(one, np.ones(1), np.ones(1, int), np.ones(1, int)),
    )
    for exchanges in ([], [silent], [measured]):
        assert cohort_loss(exchanges) is None
        assert discrepancy(exchanges, Serving(models, np.array([0]))) is None
