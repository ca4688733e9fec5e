"""What one round shows: accuracy, groups against true clusters, loss and discrepancy."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, adjusted_rand_score

from flexcfl.protocol import (
    LOWEST_LOSS,
    NO_GROUP,
    Evaluate,
    Evaluated,
    Exchange,
    Ids,
    Local,
    Serving,
    Train,
    Trained,
    Vectors,
)
from flexcfl.record.metrics import Trainees, accuracy, adjusted_rand_index


def evaluated(hits: list[int], examples: list[int]) -> Evaluated:
    return Evaluated(
        np.arange(len(hits)), np.zeros(len(hits)), np.array(hits, int), np.array(examples, int)
    )


def test_it_is_scikit_learns_over_all_examples_together() -> None:
    rng = np.random.default_rng(0)
    sizes = [1, 10, 100]
    truth = [rng.integers(3, size=size) for size in sizes]
    guess = [rng.integers(3, size=size) for size in sizes]
    hits = [int((a == b).sum()) for a, b in zip(truth, guess, strict=True)]
    expected = accuracy_score(np.concatenate(truth), np.concatenate(guess))
    assert accuracy(evaluated(hits, sizes)) == pytest.approx(expected)


def test_only_those_chosen_count() -> None:
    found = evaluated([1, 5, 9], [10, 10, 30])
    assert accuracy(found, np.array([True, False, True])) == 10 / 40
    assert accuracy(found, np.zeros(3, np.bool_)) is None


def test_without_test_data_there_is_none() -> None:
    assert accuracy(evaluated([0, 0], [0, 0])) is None
    assert accuracy(evaluated([], [])) is None


TRUE = np.array([0, 0, 1, 1, 2, 2])


def test_names_of_groups_do_not_matter() -> None:
    assert adjusted_rand_index(TRUE, np.array([5, 5, 0, 0, 1, 1])) == 1


def test_only_placed_clients_count() -> None:
    group_of = np.array([1, NO_GROUP, 0, 2, 2, NO_GROUP])
    expected = adjusted_rand_score([0, 1, 1, 2], [1, 0, 2, 2])
    assert expected < 1
    assert adjusted_rand_index(TRUE, group_of) == pytest.approx(expected)


def test_there_is_none_without_a_structure_or_without_anybody_placed() -> None:
    assert adjusted_rand_index(None, np.zeros(6, np.int64)) is None
    assert adjusted_rand_index(TRUE, np.full(6, NO_GROUP)) is None


def exchange(models: Vectors, clients: Ids, model_of: Ids, updates: Vectors) -> Exchange:
    order = Train(clients, models, model_of, Local())
    return order, Trained(clients, updates, clients + 1, clients.astype(float), model_of)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def vectors(rng: np.random.Generator, count: int) -> Vectors:
    return rng.normal(size=(count, 5)).astype(np.float32)


def test_discrepancy_is_equation_3_for_groups_that_change_and_models_that_clients_choose(
    rng: np.random.Generator,
) -> None:
    old, new, updates = vectors(rng, 2), vectors(rng, 2), vectors(rng, 3)
    asked, answering, model_of = np.array([8, 3, 5, 1]), np.array([8, 5, 1]), np.array([1, 1, 0])
    new_group = np.zeros(10, np.int64)
    new_group[[8, 1]] = 1  # since then, 5 and 1 have changed groups
    order = Train(asked, old, LOWEST_LOSS, Local())
    reply = Trained(answering, updates, answering + 1, answering.astype(float), model_of)

    distances = [
        np.linalg.norm(old[1] + updates[0] - new[1]),
        np.linalg.norm(old[1] + updates[1] - new[0]),
        np.linalg.norm(old[0] + updates[2] - new[1]),
    ]
    trainees = Trainees.of([(order, reply)], Serving(new, new_group))
    assert trainees.discrepancy == pytest.approx(np.mean(distances), rel=1e-6)
    assert trainees.members(0).discrepancy == pytest.approx(distances[1], rel=1e-6)
    assert trainees.members(1).discrepancy == pytest.approx(np.mean(distances[::2]), rel=1e-6)
    assert trainees.members(0).loss == 5
    assert trainees.members(1).loss == pytest.approx((8 * 9 + 1 * 2) / (9 + 2))


def test_discrepancy_of_one_client_alone_is_nothing() -> None:
    model, update = np.full((1, 3), 0.5, np.float32), np.full((1, 3), 0.25, np.float32)
    one, zero = np.array([0]), np.array([0])
    trainees = Trainees.of([exchange(model, one, zero, update)], Serving(model + update, zero))
    assert trainees.discrepancy == 0.0


def test_loss_is_weighted_by_examples_over_all_training_orders() -> None:
    models, nothing = np.zeros((1, 2), np.float32), np.zeros((2, 2), np.float32)
    group = np.zeros(2, np.int64)
    first = exchange(models, np.array([1, 2]), group, nothing)
    second = exchange(models, np.array([4, 5]), group, nothing)
    expected = (1 * 2 + 2 * 3 + 4 * 5 + 5 * 6) / (2 + 3 + 5 + 6)
    trainees = Trainees.of([first, second], Serving(models, np.zeros(6, np.int64)))
    assert trainees.loss == pytest.approx(expected)


def test_what_clients_train_to_find_a_group_does_not_count(rng: np.random.Generator) -> None:
    models, group = vectors(rng, 1), np.zeros(2, np.int64)
    own = exchange(models, np.array([1, 2]), group, vectors(rng, 2))
    order, reply = exchange(models, np.array([3, 4]), group, vectors(rng, 2))
    assert isinstance(order, Train)
    serving = Serving(vectors(rng, 1), np.zeros(5, np.int64))
    alone = Trainees.of([own], serving)
    for purpose in ("cold-start", "placement"):
        other: Exchange = (replace(order, purpose=purpose), reply)
        together = Trainees.of([other, own], serving)
        assert (together.loss, together.discrepancy) == (alone.loss, alone.discrepancy)


def test_who_trained_and_has_no_group_counts_in_the_loss_alone(rng: np.random.Generator) -> None:
    models, clients = vectors(rng, 2), np.array([0, 1])
    order, reply = exchange(models, clients, np.array([0, 1]), vectors(rng, 2))
    assert isinstance(reply, Trained)
    trainees = Trainees.of([(order, reply)], Serving(models, np.array([NO_GROUP, 1])))
    assert trainees.loss == pytest.approx(2 / 3)
    assert trainees.discrepancy == pytest.approx(np.linalg.norm(reply.updates[1]), rel=1e-6)
    nobody = Trainees.of([(order, reply)], Serving(models, np.array([NO_GROUP, NO_GROUP])))
    assert nobody.discrepancy is None


def test_where_nobody_trains_there_is_neither() -> None:
    ids, models, one = np.empty(0, np.int64), np.zeros((1, 2), np.float32), np.array([0])
    silent: Exchange = (
        Train(one, models, one, Local()),
        Trained(ids, np.empty((0, 2), np.float32), ids, np.empty(0), ids),
    )
    measured: Exchange = (
        Evaluate(one, models, one),
        Evaluated(one, np.ones(1), np.ones(1, int), np.ones(1, int)),
    )
    for exchanges in ([], [silent], [measured]):
        trainees = Trainees.of(exchanges, Serving(models, one))
        assert trainees.loss is None
        assert trainees.discrepancy is None
        assert trainees.members(0).loss is None
