"""The simulator: orders fulfilled in one process."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from flexcfl.data import Federation, IndexLists
from flexcfl.engine import Engine
from flexcfl.protocol import (
    LOWEST_LOSS,
    NO_GROUP,
    CheckDrift,
    Choose,
    Evaluate,
    Ids,
    Keep,
    Local,
    Migrate,
    Order,
    Place,
    Settle,
    Train,
    Trained,
)
from flexcfl.record.checkpoints import flattened, rebuilt
from flexcfl.shifts import Holdings, Incremental, Moment, SwapAll, Timeline
from flexcfl.shifts.detection import LabelShare, Samples, Watch
from flexcfl.simulation import Memory, Simulation
from flexcfl.simulation.keepsakes import Keepsake, Keepsakes
from tests.record.checkpoints.interrupted import check_values

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
    return Simulation(engine, Timeline(federation), seed=7)


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
        trained(Simulation(engine, Timeline(federation), seed=8), models, [2]),
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
    one, other = Simulation(engine, Timeline(both), seed=7).at(1)(order).updates
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


def test_orders_of_one_round_draw_their_own_batches(
    engine: Engine, federation: Federation, models: np.ndarray
) -> None:
    """The first training as before, other draws for repeats, independent of other clients."""
    world, clients = Simulation(engine, Timeline(federation), seed=7), np.array([2, 4])
    order, executor = Train(clients, models, clients * 0, LOCAL), world.at(1)
    first, second, third = (executor(order).updates for _ in range(3))
    np.testing.assert_array_equal(first, world.at(1)(order).updates)
    for one, other in ((first, second), (second, third), (first, third)):
        assert (np.abs(one - other).max(axis=1) > 1e-5).all()
    executor = world.at(1)
    executor(Train(clients[1:], models, clients[1:] * 0, LOCAL))
    mixed = executor(order).updates
    np.testing.assert_allclose(mixed, [first[0], second[1]], atol=1e-6)


def test_a_model_that_has_diverged_fits_nobody(
    engine: Engine, federation: Federation, models: np.ndarray
) -> None:
    watch = Watch(Sizes(), federation.clients)
    world, clients = Simulation(engine, Timeline(federation), 7, watch), np.array([4, 0])
    diverged = np.full_like(models, np.nan)
    diverged[1] = np.inf
    some = np.concatenate([diverged, models[:1]])
    assert world.at(1)(Choose(clients, some)).model_of.tolist() == [2, 2]
    assert world.at(1)(Train(clients, some, LOWEST_LOSS, LOCAL)).model_of.tolist() == [2, 2]
    assert world.at(1)(Choose(clients, diverged)).model_of.tolist() == [NO_GROUP, NO_GROUP]
    lost = world.at(1)(Train(clients, diverged, LOWEST_LOSS, LOCAL))
    assert lost.model_of.tolist() == [NO_GROUP, NO_GROUP]
    assert np.isnan(lost.loss).all()
    assert not lost.updates.any()


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
    world, clients, origin = (
        Simulation(engine, Timeline(federation), seed=7),
        np.array([4, 1]),
        models[0],
    )
    order = Train(clients, models, clients * 0, LOCAL, purpose="cold-start")
    updates = world.at(5)(order).updates
    directions = np.stack([-updates[0], 3 * updates[1], 0.1 * updates[0]])
    placed = world.at(5)(Place(clients, origin, directions, LOCAL))
    assert placed.clients.tolist() == [4, 1]
    assert placed.group_of.tolist() == [2, 1]
    (keepsake,) = world.keepsakes.sent
    assert world.keepsakes.kept == {1: 0, 4: 0}
    assert keepsake.origin is origin
    assert keepsake.directions is directions


def test_a_migration_is_the_placement_again_without_anything_being_sent(
    engine: Engine, federation: Federation, models: np.ndarray
) -> None:
    world, clients = Simulation(engine, Timeline(federation), seed=7), np.array([4, 1, 0])
    directions = np.random.default_rng(0).normal(size=(3, models.shape[1])).astype(np.float32)
    placed = world.at(5)(Place(clients, models[0], directions, LOCAL))
    # Others have been sent something else since.
    world.at(6)(Keep(np.array([2]), models[1], directions[::-1].copy()))
    again = world.at(5)(Migrate(clients, LOCAL, 2))
    assert again.clients.tolist() == [4, 1, 0]
    assert again.group_of.tolist() == placed.group_of.tolist()
    mixed = world.at(5)(Migrate(np.array([2, 4, 1, 0]), LOCAL, 2))
    assert mixed.group_of[1:].tolist() == placed.group_of.tolist()


def test_whose_pre_training_diverges_has_no_group_to_name(
    engine: Engine, federation: Federation, models: np.ndarray
) -> None:
    wild = replace(LOCAL, rate=1e30, l2=1e6)
    world, clients = Simulation(engine, Timeline(federation), seed=7), np.array([4, 1])
    directions = np.random.default_rng(0).normal(size=(3, models.shape[1])).astype(np.float32)
    for order in (Place(clients, models[0], directions, wild), Migrate(clients, wild, 3)):
        answered = world.at(5)(order)
        assert answered.clients.tolist() == [4, 1]
        assert answered.group_of.tolist() == [NO_GROUP, NO_GROUP]
    assert NO_GROUP not in world.at(5)(Migrate(clients, LOCAL, 3)).group_of  # as it kept all


def test_what_is_sent_again_is_kept_once(
    engine: Engine, federation: Federation, models: np.ndarray
) -> None:
    world = Simulation(engine, Timeline(federation), seed=7)
    world.at(0)(Keep(np.array([3, 0]), models[0], models))
    world.at(1)(Place(np.array([1]), models[0].copy(), models.copy(), LOCAL))
    world.at(2)(Keep(np.array([0]), models[1], models))
    assert len(world.keepsakes.sent) == 2
    assert world.keepsakes.kept == {3: 0, 1: 0, 0: 1}


def test_a_client_asked_to_choose_says_what_it_would_train(
    simulation: Simulation, models: np.ndarray
) -> None:
    clients = np.array([4, 0, 2, 3])
    models = np.stack([models[1], -models[1]])
    chosen = simulation.at(1)(Choose(clients, models))
    trained = simulation.at(1)(Train(clients, models, LOWEST_LOSS, LOCAL))
    assert chosen.clients.tolist() == clients.tolist()
    assert chosen.model_of.tolist() == trained.model_of.tolist()


@dataclass(frozen=True)
class Exchange:
    """Clients 0 and 2 exchange everything in round 3."""

    variants = False

    def check(self, federation: Federation) -> None: ...

    def apply(self, holdings: Holdings, moment: Moment) -> Holdings:
        if moment.number != 3:
            return holdings
        return holdings.owned(np.array([2, 1, 0, 3, 4])[holdings.owner])


@pytest.fixture
def moving(engine: Engine, federation: Federation) -> Simulation:
    timeline = Timeline(federation, {"exchange": Exchange()})
    return Simulation(engine, timeline, 7, Watch(Sizes(), federation.clients))


@dataclass(frozen=True)
class Sizes:
    """A detector: the number of examples has changed."""

    def profiles(self, samples: Samples) -> np.ndarray:
        return np.asarray(samples.counts.sum(axis=1, keepdims=True), dtype=np.float64)

    def drifted(self, kept: np.ndarray, now: np.ndarray) -> np.ndarray:
        return np.asarray((kept != now).any(axis=1))


def test_clients_work_on_the_data_that_they_have_in_the_round(
    moving: Simulation, federation: Federation, models: np.ndarray
) -> None:
    clients = np.arange(5)
    for number, sizes in ((2, [5, 1, 9, 4, 7]), (3, [9, 1, 5, 4, 7]), (4, [9, 1, 5, 4, 7])):
        executor = moving.at(number)
        assert executor(Train(clients, models, clients * 0, LOCAL)).examples.tolist() == sizes
        tested = executor(Evaluate(clients, models, clients * 0))
        assert tested.examples[0] == len(federation.test[0 if number == 2 else 2])
    assert moving.shifted(3).tolist() == [0, 2]
    assert moving.shifted(2).tolist() == moving.shifted(4).tolist() == []


PLACING: dict[str, Callable[[Ids, np.ndarray], Order[Any]]] = {
    "place": lambda clients, models: Place(clients, models[0], models, LOCAL),
    "keep": lambda clients, models: Keep(clients, models[0], models),
    "migrate": lambda clients, models: Migrate(clients, LOCAL, 2),
    "choose": lambda clients, models: Choose(clients, models),
    "settle": lambda clients, models: Settle(clients),
    "train": lambda clients, models: Train(clients, models, LOWEST_LOSS, LOCAL),
}


@pytest.mark.parametrize("again", PLACING)
@pytest.mark.parametrize("first", sorted(set(PLACING) - {"migrate"}))
def test_a_verdict_is_on_what_changed_since_the_last_placement_and_stands_until_the_next(
    first: str, again: str, moving: Simulation, models: np.ndarray
) -> None:
    everybody, placed = CheckDrift(np.arange(4)), np.array([0, 1, 2, 3])
    moving.at(1)(PLACING["keep"](np.array([0]), models))  # something to migrate with
    moving.at(1)(PLACING[first](placed, models))
    assert not moving.at(2)(everybody).drifted.any()
    for number in (3, 4, 5):
        assert moving.at(number)(everybody).drifted.tolist() == [True, False, True, False]
    moving.at(5)(PLACING[again](np.array([0]), models))
    for number in (5, 6):
        assert moving.at(number)(everybody).drifted.tolist() == [False, False, True, False]


def test_a_detector_receives_the_initial_sizes(engine: Engine, federation: Federation) -> None:
    told = []

    @dataclass(frozen=True)
    class Curious(Sizes):
        def profiles(self, samples: Samples) -> np.ndarray:
            told.append((samples.first_sizes.tolist(), samples.counts.sum(axis=1).tolist()))
            return super().profiles(samples)

    releases = [{"round": 0, "share": 0.5}, {"round": 2, "share": 1.0}]
    timeline = Timeline(federation, {"incremental": Incremental(schedule=releases)})  # type: ignore[arg-type]
    world = Simulation(engine, timeline, 7, Watch(Curious(), federation.clients))
    world.at(3)(Settle(np.array([2, 0])))
    world.at(1)(Settle(np.array([2, 0])))
    assert told == [([5, 3], [9, 5]), ([5, 3], [5, 3])]


def test_changes_are_noticed_in_rounds_that_nobody_asked_for_and_on_the_way_back(
    moving: Simulation,
) -> None:
    everybody = np.arange(5)
    moving.at(1)(Settle(everybody))
    assert np.flatnonzero(moving.at(5)(CheckDrift(everybody)).drifted).tolist() == [0, 2]
    moving.at(5)(Settle(everybody))
    assert np.flatnonzero(moving.at(2)(CheckDrift(everybody)).drifted).tolist() == [0, 2]


def test_training_a_given_model_is_no_placement(moving: Simulation, models: np.ndarray) -> None:
    everybody, clients = np.arange(5), np.array([0, 2])
    moving.at(1)(Settle(everybody))
    moving.at(3)(Train(clients, models, clients * 0, LOCAL))
    assert np.flatnonzero(moving.at(3)(CheckDrift(everybody)).drifted).tolist() == [0, 2]


def test_who_has_lost_everything_asks_to_be_placed_like_a_newcomer(
    moving: Simulation, models: np.ndarray
) -> None:
    everybody = np.arange(4)
    moving.at(1)(Place(everybody[:3], models[0], models, LOCAL))
    assert moving.at(1)(CheckDrift(everybody)).drifted.tolist() == [False, False, False, True]
    placed = moving.at(1)(Migrate(everybody, LOCAL, 2))
    assert (placed.group_of[:3] >= 0).all()
    assert placed.group_of[3] == NO_GROUP
    assert moving.at(1)(CheckDrift(everybody)).drifted.tolist() == [False, False, False, True]
    moving.at(1)(Place(everybody[3:], models[0], models, LOCAL))
    assert not moving.at(1)(CheckDrift(everybody)).drifted.any()


def test_without_a_watch_no_client_can_be_asked(simulation: Simulation) -> None:
    with pytest.raises(RuntimeError, match="Watch"):
        simulation.at(1)(CheckDrift(np.arange(2)))


def test_founders_keep_the_directions(
    engine: Engine, federation: Federation, models: np.ndarray
) -> None:
    world = Simulation(engine, Timeline(federation), seed=7)
    reply = world.at(0)(Keep(np.array([3, 0]), models[0], models))
    assert reply.clients.tolist() == [3, 0]
    assert world.keepsakes.kept == {3: 0, 0: 0}
    assert world.keepsakes.sent[0].directions is models


def test_a_simulation_that_recalls_does_as_the_one_that_remembers(
    engine: Engine, federation: Federation, models: np.ndarray
) -> None:
    everybody, some = np.arange(5), np.array([0, 2, 3])

    def made() -> Simulation:
        shifts = {"swap-all": SwapAll(probability=0.6)}
        world = Timeline(federation, shifts, seed=3, visited=lambda number: everybody)
        return Simulation(engine, world, 7, Watch(LabelShare(), 5))

    def later(world: Simulation) -> list[Any]:
        orders: list[Order[Any]] = [CheckDrift(everybody), Migrate(some, LOCAL, 2)]
        orders += [Choose(everybody, models), Train(everybody, models, LOWEST_LOSS, LOCAL)]
        orders += [Place(everybody, models[0], models, LOCAL), CheckDrift(everybody)]
        return [world.at(number)(order) for number in range(4, 9) for order in orders]

    one, other = made(), made()
    for number in range(4):
        one.at(number)(Keep(some, models[number % 2], models))
        one.at(number)(CheckDrift(everybody))
    memory = one.memory()
    arrays: list[np.ndarray] = []
    content = flattened(memory, arrays)
    copied = [array.copy() for array in arrays]
    expected = later(one)
    check_values(arrays, copied)  # what is remembered does not change with the simulation
    other.at(7)(Place(everybody, -models[0], -models, LOCAL))  # wherever it has been before
    other.recall(rebuilt(Memory, content, copied))
    check_values(later(other), expected)


@given(st.lists(st.tuples(st.sets(st.integers(0, 5)), st.integers(0, 3)), max_size=6))
def test_keepsakes_are_recalled_as_they_were(sent: list[tuple[set[int], int]]) -> None:
    def gift(number: int) -> Keepsake:
        return Keepsake(np.full(2, number, np.float32), np.full((1, 2), number, np.float32))

    one, other = Keepsakes(), Keepsakes()
    other.receive(np.array([0, 9]), gift(8))
    for clients, number in sent:
        one.receive(np.array(sorted(clients), dtype=np.int64), gift(number))
    memory = one.memory()
    other.recall(memory)
    assert (other.sent, other.kept) == (one.sent, one.kept)
    one.receive(np.array([0]), gift(9))
    other.recall(memory)
    assert 9 not in [each.origin[0] for each in other.sent]
