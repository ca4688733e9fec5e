"""Letters and greetings as Flower's records, and back."""

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from flwr.app import RecordDict

from flexcfl.flower.records import (
    ABOUT,
    MESSAGES,
    REPLIES,
    Heading,
    Hosts,
    Letter,
    MalformedError,
    hosts_in,
    hosts_record,
    letter_in,
    letter_record,
    refusal,
)
from flexcfl.protocol import (
    LOWEST_LOSS,
    CheckDrift,
    Choose,
    Evaluate,
    Keep,
    Local,
    Migrate,
    Order,
    Place,
    Settle,
    Train,
)

HEADING = Heading("0" * 16, "1" * 16, 7, 'name = "é"\n', "float16")
ASKED, MODELS = np.array([1, 4]), np.arange(6, dtype=np.float32).reshape(2, 3)
LOCAL = Local(epochs=3, steps=2, batch=5, rate=0.1, l2=0.01, prox=0.5)
ORDERS: list[Any] = [
    Train(ASKED, MODELS, np.array([1, 0]), LOCAL, "placement"),
    Train(ASKED, MODELS, LOWEST_LOSS, LOCAL, founding=True),
    Place(ASKED, MODELS[0], MODELS, LOCAL),
    Migrate(ASKED, LOCAL, 4),
    Keep(ASKED, MODELS[0], MODELS),
    Choose(ASKED, MODELS),
    Settle(ASKED),
    CheckDrift(ASKED),
    Evaluate(ASKED, MODELS, np.array([1, 0]), "train"),
]


def over_the_wire(content: RecordDict) -> RecordDict:
    """Return records as another process reads them."""
    children = {
        identity: type(child).inflate(child.deflate(), child.children)
        for identity, child in (content.children or {}).items()
    }
    return RecordDict.inflate(content.deflate(), children)


@pytest.mark.parametrize("order", [None, *ORDERS], ids=lambda order: getattr(order, "kind", "who"))
def test_a_letter_is_read_as_it_was_written(order: Order[Any] | None) -> None:
    letter = letter_in(over_the_wire(letter_record(Letter(HEADING, order))))
    assert letter.heading == HEADING
    assert type(letter.order) is type(order)
    for each in fields(order) if order is not None else ():  # type: ignore[arg-type]
        one, other = getattr(letter.order, each.name), getattr(order, each.name)
        np.testing.assert_array_equal(one, other)
        assert type(one) is type(other)
        assert getattr(one, "dtype", None) == getattr(other, "dtype", None)


def test_every_order_has_a_message_and_a_reply() -> None:
    assert {type(order) for order in ORDERS} == set(MESSAGES) == set(REPLIES)
    assert len(set(MESSAGES.values())) == len(MESSAGES)


def test_an_array_that_is_not_in_one_piece_arrives_in_order() -> None:
    order = Choose(ASKED[::-1], MODELS[:, ::-1])
    letter = letter_in(letter_record(Letter(HEADING, order)))
    assert isinstance(letter.order, Choose)
    np.testing.assert_array_equal(letter.order.models, MODELS[:, ::-1])


@pytest.mark.parametrize(
    "content",
    [
        RecordDict(),
        refusal("no"),
        hosts_record(Hosts(ASKED, 9, (2,), 3)),
        letter_record(Letter(HEADING, ORDERS[0])),
    ],
)
def test_what_is_no_letter(content: RecordDict) -> None:
    about = content.config_records.get(ABOUT)
    if about is not None and "purpose" in str(about["about"]):
        about["about"] = str(about["about"]).replace('"purpose"', '"reason"')
    with pytest.raises(MalformedError):
        letter_in(content)


def test_who_is_there() -> None:
    hosts = hosts_in(over_the_wire(hosts_record(Hosts(np.array([7, 3, 3]), 9, (2, 5), 4))))
    assert hosts.clients.tolist() == [3, 7]
    assert (hosts.total, hosts.shape, hosts.classes) == (9, (2, 5), 4)


def test_a_refusal_is_read_as_its_sentence_and_not_more() -> None:
    with pytest.raises(MalformedError, match=r"^No data here\.$"):
        hosts_in(refusal("No data here."))
    with pytest.raises(MalformedError, match=r"^x{1000}$"):
        hosts_in(refusal("x" * 10**6))
