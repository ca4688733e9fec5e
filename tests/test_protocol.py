"""The vocabulary of orders and replies, and how a conversation is held."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from flexcfl import protocol
from flexcfl.protocol import (
    LOWEST_LOSS,
    NO_GROUP,
    Conversation,
    DistinctDraws,
    Evaluate,
    Evaluated,
    Keep,
    Kept,
    Local,
    Migrate,
    Order,
    Place,
    Placed,
    Train,
    Trained,
    TrainingOrder,
    among,
    ask,
    drive,
    lowest_finite,
)


def evaluated(*hits: int) -> Evaluated:
    count = len(hits)
    ids = np.arange(count)
    return Evaluated(ids, np.zeros(count), np.array(hits), np.full(count, 10))


def an_order(clients: int, parameters: int) -> Evaluate:
    ids = np.arange(clients)
    return Evaluate(ids, np.zeros((1, parameters), np.float32), np.zeros(clients, np.int64))


def test_a_conversation_gets_the_reply_to_each_order_and_its_result_is_handed_back() -> None:
    def conversation() -> Conversation[list[int]]:
        first = yield from ask(an_order(1, 2))
        second = yield from ask(an_order(2, 2))
        return [int(first.hits.sum()), int(second.hits.sum())]

    seen: list[int] = []

    def executor(order: Order[Any]) -> Any:
        assert isinstance(order, Evaluate)
        seen.append(len(order.clients))
        return evaluated(*range(len(order.clients) + 1))

    assert drive(conversation(), executor) == [1, 3]
    assert seen == [1, 2]


def test_a_conversation_may_ask_for_nothing() -> None:
    def conversation() -> Conversation[str]:
        yield from ()
        return "done"

    def executor(order: Order[Any]) -> Any:
        raise AssertionError("nobody was to be asked")

    assert drive(conversation(), executor) == "done"


def test_an_error_of_the_executor_reaches_the_driver() -> None:
    def conversation() -> Conversation[None]:
        yield from ask(an_order(1, 1))

    def executor(order: Order[Any]) -> Any:
        raise ConnectionError("unplugged")

    with pytest.raises(ConnectionError, match="unplugged"):
        drive(conversation(), executor)


def test_bytes_are_those_of_the_models_and_figures_that_travel() -> None:
    clients = np.array([4, 7, 9])
    order = Train(clients, np.zeros((2, 100), np.float32), np.array([0, 1, 0]), Local())
    assert order.down_bytes == 3 * 100 * 4
    zeros = np.zeros(2, np.int64)
    updates = np.zeros((2, 100), np.float32)
    reply = Trained(clients[:2], updates, np.array([5, 6]), np.zeros(2), zeros)
    assert reply.up_bytes == 2 * (100 * 4 + 8 + 8 + 8)
    choosing = Train(clients, np.zeros((2, 100), np.float32), LOWEST_LOSS, Local())
    assert choosing.down_bytes == 3 * 2 * 100 * 4
    origin, directions = np.zeros(100, np.float32), np.zeros((2, 100), np.float32)
    assert Place(clients, origin, directions, Local()).down_bytes == 3 * 3 * 100 * 4
    assert Placed(clients, np.zeros(3, np.int64)).up_bytes == 3 * 8
    assert Keep(clients, origin, directions).down_bytes == 3 * 2 * 100 * 4
    assert Kept(clients).up_bytes == 0
    assert an_order(3, 100).down_bytes == 3 * 100 * 4
    assert evaluated(1, 2).up_bytes == 2 * 3 * 8


def test_orders_of_a_round_say_how_often_a_client_has_trained_for_the_same_purpose() -> None:
    seen: list[list[int] | None] = []

    def executor(order: Order[Any]) -> Any:
        assert isinstance(order, TrainingOrder)
        seen.append(None if order.repeats is None else order.repeats.tolist())

    one, two = np.array([1, 2]), np.array([3, 2, 1])
    models, given = np.zeros((1, 4), np.float32), DistinctDraws(executor)
    given(Train(one, models, one * 0, Local()))
    given(Train(one, models, one * 0, Local(), "cold-start"))
    given(Train(two, models, two * 0, Local()))
    given(Migrate(np.array([2, 4]), Local(), 1))
    given(Migrate(np.array([5]), Local(), 1))
    given(Train(two, models, two * 0, Local(), repeats=two))  # as a server has sent it
    given(Train(two, models, two * 0, Local()))
    assert seen == [None, None, [0, 1, 1], [1, 0], None, [3, 2, 1], [2, 3, 3]]


def test_a_client_draws_by_itself_the_first_time_and_by_its_repetition_later() -> None:
    clients = np.array([7, 3, 5])
    order = Train(clients, np.zeros((1, 4), np.float32), clients * 0, Local())
    assert list(order.draws(np.array([5, 7]))) == [(5,), (7,)]
    again = dataclasses.replace(order, repeats=np.array([2, 0, 1]))
    assert list(again.draws(np.array([5, 3, 7]))) == [(5, 1), (3,), (7, 2)]
    some = among(again, np.array([True, False, True]))
    assert list(some.draws(some.clients)) == [(7, 2), (5, 1)]


def test_only_a_finite_loss_can_be_the_lowest() -> None:
    nan, inf = np.nan, np.inf
    losses = np.array([[nan, 2, 1], [1, 1, nan], [-inf, inf, 3], [nan, inf, -inf]])
    assert lowest_finite(losses).tolist() == [2, 0, 2, NO_GROUP]
    assert lowest_finite(np.empty((0, 3))).tolist() == []


def test_an_order_must_say_what_it_sends() -> None:
    class Dumb(Order[None]):
        pass

    with pytest.raises(TypeError, match="down_bytes"):
        Dumb(np.arange(3))  # type: ignore[abstract]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("rate", 0.0),
        ("rate", -0.1),
        ("rate", float("nan")),
        ("rate", float("inf")),
        ("epochs", 0),
        ("steps", 0),
        ("batch", -1),
        ("l2", -1.0),
        ("prox", float("nan")),
        ("momentum", 0.9),
    ],
)
def test_local_training_refuses_what_cannot_be_meant(key: str, value: float) -> None:
    with pytest.raises(ValidationError):
        Local(**{key: value})  # type: ignore[arg-type]


def test_values_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Local().rate = 1.0  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        evaluated(1).hits = np.zeros(1, np.int64)  # type: ignore[misc]


def test_everything_exported_exists() -> None:
    assert len(set(protocol.__all__)) == len(protocol.__all__)
    assert all(hasattr(protocol, name) for name in protocol.__all__)


def test_models_that_were_promoted_are_found_out() -> None:
    models: Any = np.zeros((1, 3))
    nobody = np.empty(0, np.int64)
    with pytest.raises(TypeError, match="float64"):
        Train(nobody, models, nobody, Local())
    with pytest.raises(TypeError, match="float64"):
        Evaluate(nobody, models, nobody)
    with pytest.raises(TypeError, match="float64"):
        Place(nobody, np.zeros(3, np.float32), models, Local())


@pytest.mark.parametrize("group", [NO_GROUP, 2])
def test_a_client_without_a_model_cannot_be_asked(group: int) -> None:
    client, models = np.array([0]), np.zeros((2, 3), np.float32)
    with pytest.raises(ValueError, match=f"no model {group}"):
        Train(client, models, np.array([group]), Local())
    with pytest.raises(ValueError, match=f"no model {group}"):
        Evaluate(client, models, np.array([group]))


def test_an_executor_that_runs_out_of_something_does_not_end_the_conversation() -> None:
    def exhausted(order: Any) -> Any:
        return next(iter(()))

    nobody = np.empty(0, np.int64)
    order = Evaluate(nobody, np.zeros((1, 3), np.float32), nobody)
    with pytest.raises(StopIteration):
        drive(ask(order), exhausted)
