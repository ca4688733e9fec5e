"""The simulator: orders fulfilled in one process."""

import numpy as np
import pytest
from torch import nn

from flexcfl.data import Federation, IndexLists
from flexcfl.engine import Engine
from flexcfl.protocol import LOWEST_LOSS, Evaluate, Ids, Keep, Local, Place, Train, Trained
from flexcfl.simulation import Simulation

FEATURES, CLASSES = 4, 3
LOCAL = Local(epochs=2, batch=3, rate=0.1)


@pytest.fixture(scope="module")
def federation() -> Federation:
    rng = np.random.default_rng(0)
    sizes = [5, 1, 9, 4, 7]
    x = rng.normal(size=(40, FEATURES)).astype(np.float32)
    y = rng.integers(CLASSES, size=40)
    order, cuts = rng.permutation(40), np.cumsum(sizes)
    train = np.split(order[: cuts[-1]], cuts[:-1])
    test = [*np.array_split(order[cuts[-1] :], 4), np.empty(0, np.int64)]
    return Federation("tiny", x, y, IndexLists.of(train), IndexLists.of(test), CLASSES)


@pytest.fixture(scope="module")
def engine(federation: Federation) -> Engine:
    return Engine(
        lambda: nn.Sequential(nn.Linear(FEATURES, CLASSES)), federation.x, federation.y, CLASSES
    )


@pytest.fixture(scope="module")
def models(engine: Engine) -> np.ndarray:
    return np.stack([engine.initial(np.random.default_rng(seed)) for seed in (0, 1)])


@pytest.fixture(scope="module")
def simulation(engine: Engine, federation: Federation) -> Simulation:
    return Simulation(engine, federation, seed=7)


def trained(
    simulation: Simulation, models: np.ndarray, clients: list[int], number: int = 1
) -> Trained:
    ids: Ids = np.array(clients, dtype=np.int64)
    return simulation.at(number)(Train(ids, models, ids % 2, LOCAL))


def test_replies_keep_the_order_asked_and_say_how_large_clients_are(
    simulation: Simulation, models: np.ndarray
) -> None:
    reply = trained(simulation, models, [3, 0, 2])
    assert reply.clients.tolist() == [3, 0, 2]
    assert reply.examples.tolist() == [4, 5, 9]
    assert reply.updates.shape == (3, models.shape[1])
    assert np.isfinite(reply.loss).all()


def test_what_a_client_does_depends_on_seed_round_and_client_alone(
    simulation: Simulation, engine: Engine, federation: Federation, models: np.ndarray
) -> None:
    alone = trained(simulation, models, [2])
    together = trained(simulation, models, [4, 2, 0, 1])
    np.testing.assert_allclose(together.updates[1], alone.updates[0], atol=1e-6)
    np.testing.assert_allclose(together.loss[1], alone.loss[0], atol=1e-6)
    for other in (
        trained(simulation, models, [2], number=2),
        trained(Simulation(engine, federation, seed=8), models, [2]),
    ):
        assert np.abs(other.updates - alone.updates).max() > 1e-4


def test_the_same_order_gives_the_same_reply_bit_for_bit(
    simulation: Simulation, models: np.ndarray
) -> None:
    one, other = (trained(simulation, models, [0, 1, 2, 3, 4]) for _ in range(2))
    assert np.array_equal(one.updates, other.updates)
    assert np.array_equal(one.loss, other.loss)


def test_clients_start_from_the_models_they_are_given(
    simulation: Simulation, models: np.ndarray
) -> None:
    slow = Local(epochs=1, batch=10, rate=1e-12)
    reply = simulation.at(1)(Train(np.array([2, 3]), models, np.array([0, 1]), slow))
    assert np.abs(reply.updates).max() < 1e-6


@pytest.mark.parametrize("split", ["train", "test"])
def test_evaluation_against_numpy(
    simulation: Simulation,
    federation: Federation,
    engine: Engine,
    models: np.ndarray,
    split: str,
) -> None:
    clients, model_of = np.arange(5), np.array([0, 1, 0, 1, 1])
    order = Evaluate(clients, models, model_of, "train" if split == "train" else "test")
    reply = simulation.at(1)(order)
    owned = federation.train if split == "train" else federation.test
    assert reply.examples.tolist() == owned.sizes.tolist()
    for client in range(5):
        named = engine.unflatten(models[model_of[client]])
        logits = federation.x[owned[client]] @ named["0.weight"].T + named["0.bias"]
        labels = federation.y[owned[client]]
        chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        loss = -np.log(chances[np.arange(len(labels)), labels]).sum()
        assert reply.loss[client] == pytest.approx(loss, rel=1e-5, abs=1e-6)
        assert reply.hits[client] == (logits.argmax(axis=1) == labels).sum()


def test_nobody_asked_nobody_answers(simulation: Simulation, models: np.ndarray) -> None:
    reply = trained(simulation, models, [])
    assert len(reply.clients) == len(reply.examples) == len(reply.loss) == 0
    assert reply.updates.shape == (0, models.shape[1])
    nobody = np.empty(0, np.int64)
    assert len(simulation.at(1)(Evaluate(nobody, models, nobody)).hits) == 0


def test_clients_with_the_same_data_draw_batches_of_their_own(
    engine: Engine, federation: Federation, models: np.ndarray
) -> None:
    twins = IndexLists.of([federation.train[2]] * 2)
    none = IndexLists.of([np.empty(0, np.int64)] * 2)
    both = Federation("twins", federation.x, federation.y, twins, none, CLASSES)
    order = Train(np.array([0, 1]), models, np.array([0, 0]), LOCAL)
    one, other = Simulation(engine, both, seed=7).at(1)(order).updates
    assert np.abs(one - other).max() > 1e-5


def test_training_for_another_purpose_draws_other_batches(
    simulation: Simulation, models: np.ndarray
) -> None:
    clients = np.array([2, 4])
    orders = [
        Train(clients, models, clients * 0, LOCAL, purpose)
        for purpose in ("training", "cold-start", "placement")
    ]
    one, other, third = (simulation.at(1)(order).updates for order in orders)
    assert np.abs(one - other).max() > 1e-5
    assert np.abs(other - third).max() > 1e-5


def test_a_client_that_may_choose_trains_from_the_model_with_the_lowest_training_loss(
    simulation: Simulation, federation: Federation, models: np.ndarray
) -> None:
    clients = np.array([4, 0, 2, 3])
    models = np.stack([models[1], -models[1]])
    reply = simulation.at(1)(Train(clients, models, LOWEST_LOSS, LOCAL))
    losses = [
        simulation.at(1)(Evaluate(clients, models, np.full(4, group), "train")).loss
        for group in range(2)
    ]
    assert reply.model_of.tolist() == np.argmin(losses, axis=0).tolist()
    assert len(set(reply.model_of.tolist())) == 2, "the example should need both models"
    given = simulation.at(1)(Train(clients, models, reply.model_of, LOCAL))
    assert np.array_equal(given.updates, reply.updates)


def test_nobody_is_asked_to_choose(simulation: Simulation, models: np.ndarray) -> None:
    nobody = np.empty(0, np.int64)
    assert len(simulation.at(1)(Train(nobody, models, LOWEST_LOSS, LOCAL)).model_of) == 0


def test_a_newcomer_joins_the_direction_of_its_own_pre_training_and_keeps_what_it_was_sent(
    engine: Engine, federation: Federation, models: np.ndarray
) -> None:
    world, clients, origin = Simulation(engine, federation, seed=7), np.array([4, 1]), models[0]
    order = Train(clients, models, clients * 0, LOCAL, purpose="cold-start")
    updates = world.at(5)(order).updates
    directions = np.stack([-updates[0], 3 * updates[1], 0.1 * updates[0]])
    placed = world.at(5)(Place(clients, origin, directions, LOCAL))
    assert placed.clients.tolist() == [4, 1]
    assert placed.group_of.tolist() == [2, 1]
    np.testing.assert_allclose(placed.cosine, [1, 1], atol=1e-6)
    assert sorted(world.memory) == [1, 4]
    assert all(kept.origin is origin for kept in world.memory.values())
    assert all(kept.directions is directions for kept in world.memory.values())


def test_founders_keep_the_directions(
    engine: Engine, federation: Federation, models: np.ndarray
) -> None:
    world = Simulation(engine, federation, seed=7)
    reply = world.at(0)(Keep(np.array([3, 0]), models[0], models))
    assert reply.clients.tolist() == [3, 0]
    assert world.memory[3] is world.memory[0]
    assert world.memory[0].directions is models
