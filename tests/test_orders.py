"""What every order promises to the layers between an algorithm and its clients."""

import ast
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flexcfl
from flexcfl.flower import messages
from flexcfl.flower.messages import (
    MESSAGES,
    OrderHeading,
    order_record,
    read_order,
    read_reply,
    reply_record,
)
from flexcfl.flower.order_checks import check_order
from flexcfl.flower.shares import Share, merged_replies, translated, up_bytes
from flexcfl.protocol import (
    Evaluate,
    Local,
    Order,
    Placed,
    Received,
    TrainingOrder,
    among,
)
from flexcfl.record.metrics import PURPOSES, Ledger
from flexcfl.trust.faults import Drag, Faults, Noise, SignFlip
from flexcfl.trust.guards import Guards, admitted
from tests.flower.inprocess import over_the_wire
from tests.trust.faults.honest import GROUPS, MODELS, Honest, behaviour, ids, orders

ROUND = 3
CLIENTS = ids(7, 2, 5)
HEADING = OrderHeading("0" * 16, "1" * 16, ROUND, 'name = "é"\n', "float16")


@dataclass(frozen=True, eq=False)
class Ninth(TrainingOrder[Placed]):
    """A new kind of order: clients train, and take one of so many groups."""

    kind, reply, charged, may_name_none = "ninth", Placed, "query", True

    groups: int
    local: Local

    @property
    def down_bytes(self) -> int:
        return 8 * len(self.clients)

    @property
    def choices(self) -> int:
        return self.groups


ORDERS: dict[str, Order[Any]] = {
    **orders(CLIENTS),
    "evaluate": Evaluate(CLIENTS, MODELS, CLIENTS % GROUPS, "train"),
    "evaluate-several": Evaluate(np.repeat(CLIENTS, 2), MODELS, np.tile([2, 0], 3)),
    "ninth": Ninth(CLIENTS, GROUPS, Local(3, 2, 5, 0.1, 0.01, 0.5)),
}
every_order = pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)


@pytest.fixture(autouse=True)
def wire_of_the_ninth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(messages.KINDS, "ninth", Ninth)


def answer(order: Order[Any]) -> Any:
    if isinstance(order, Ninth):
        return Placed(order.clients, order.clients % GROUPS)
    return Honest(ROUND)(order)


def kinds(order: type[Order[Any]] = Order) -> Iterator[type[Order[Any]]]:
    """Yield the orders that there are."""
    if not inspect.isabstract(order) and order.__module__.startswith("flexcfl"):
        yield order
    for below in order.__subclasses__():
        yield from kinds(below)


def check_equal(one: Any, other: Any) -> None:
    assert type(one) is type(other)
    for name, column in vars(one).items():
        np.testing.assert_array_equal(column, getattr(other, name))
        assert type(column) is type(getattr(other, name))
        assert getattr(column, "dtype", None) == getattr(getattr(other, name), "dtype", None)


def test_all_orders_are_here_and_each_has_a_name_and_a_message() -> None:
    known = set(kinds())
    assert known == {type(order) for order in ORDERS.values()} - {Ninth} == set(MESSAGES)
    assert len({order.kind for order in known}) == len(set(MESSAGES.values())) == len(known)


@every_order
def test_its_clients_are_those_asked_and_some_of_them_can_be_asked_alone(
    order: Order[Any],
) -> None:
    assert set(order.clients.tolist()) == set(CLIENTS.tolist())
    asked = order.clients != CLIENTS[0]
    some = among(order, asked)
    assert some.clients.tolist() == order.clients[asked].tolist()
    check_order(some, CLIENTS)
    check_equal(answer(some), _of(answer(order), asked))


def _of(reply: Any, rows: Any) -> Any:
    return type(reply)(**{name: column[rows] for name, column in vars(reply).items()})


@every_order
def test_its_empty_reply_has_no_client_and_is_otherwise_like_any(order: Order[Any]) -> None:
    check_equal(order.empty(), _of(answer(order), slice(0)))
    assert order.empty().up_bytes == 0
    admission = admitted(order, order.empty(), ROUND, Guards())
    check_equal(admission.reply, order.empty())
    assert admission.silent.tolist() == sorted(CLIENTS.tolist())
    check_equal(merged_replies(order, []).reply, order.empty())


@every_order
def test_guards_hand_on_what_is_in_order_and_know_who_was_not_asked(order: Order[Any]) -> None:
    reply = answer(order)
    assert admitted(order, reply, ROUND, Guards()).reply is reply
    strange = answer(among(order, order.clients == 5))
    strange = type(reply)(**{**vars(strange), "clients": strange.clients * 0 + 4})
    admission = admitted(order, strange, ROUND, Guards())
    assert admission.rejected == {"invalid": len(strange.clients)}
    check_equal(admission.reply, order.empty())


@every_order
def test_a_letter_and_its_answer_are_read_as_they_were_written(order: Order[Any]) -> None:
    heading, arrived = read_order(over_the_wire(order_record(HEADING, order)))
    assert heading == HEADING
    check_equal(arrived, order)
    reply = answer(order)
    for updates in ("float16", "float32"):
        returned = read_reply(order, over_the_wire(reply_record(reply, updates)))
        size = sum(column.nbytes for column in returned.columns.values())
        assert size == up_bytes(order, len(order.clients), updates)
    check_equal(merged_replies(order, [translated(Share(order), returned, ROUND)]).reply, reply)


def test_a_letter_may_only_ask_who_is_there() -> None:
    content = over_the_wire(order_record(HEADING, None))
    assert read_order(content) == (HEADING, None)


@every_order
def test_the_ledger_knows_all_that_it_sends_and_brings_back(order: Order[Any]) -> None:
    reply = answer(among(order, order.clients != CLIENTS[0]))
    costs = Ledger.of((order, reply)).costs
    assert set(costs) <= set(PURPOSES)
    assert sum(cost.down_bytes for cost in costs.values()) == order.down_bytes
    assert sum(cost.up_bytes for cost in costs.values()) == reply.up_bytes
    measured = Ledger.of((order, reply), measuring=True)
    assert set(measured.costs) <= {"evaluation"}
    assert measured.total.down_bytes == 0


@every_order
def test_what_befalls_clients_befalls_those_of_every_order(order: Order[Any]) -> None:
    """Except measurements; attacks ignore orders that they do not know."""

    def brought(faults: Faults, attack: Any = None) -> Received:
        world = behaviour(faults, attack, clients=8)
        got: Any = world.at(ROUND, lambda asked: answer(asked))(order)
        return got if isinstance(got, Received) else Received(got)

    gone = order.empty() if not order.measures else answer(order)
    check_equal(brought(Faults(dropout=1.0)).reply, gone)
    late = brought(Faults(slowness=1.0, time_budget=1e-12)).late
    assert late == (len(CLIENTS) if order.trains else 0)
    for attack in (SignFlip(share=1.0), Noise(share=1.0), Drag(share=1.0, group=GROUPS + 1)):
        altered = brought(Faults(), attack).reply
        assert altered.clients.tolist() == order.clients.tolist()
        if isinstance(attack, Drag) and order.choices and not order.measures:
            named = vars(altered).get("group_of", vars(altered).get("model_of"))
            assert set(named.tolist()) == {1}


def test_nobody_asks_an_order_of_which_class_it_is() -> None:
    source = Path(flexcfl.__file__).parent
    names = {order.__name__ for order in kinds()}
    wrong = [
        f"{path.relative_to(source)}:{node.lineno}"
        for path in source.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance"
        if names & {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    ]
    assert not wrong, f"Give Order a property, and ask for that: {wrong}."
