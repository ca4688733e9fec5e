"""Letters and greetings as Flower's records, and back."""

import numpy as np
import pytest
from flwr.app import RecordDict

from flexcfl.flower.messages import (
    ABOUT,
    MalformedError,
    NodeInfo,
    OrderHeading,
    node_info_record,
    order_record,
    read_node_info,
    read_order,
    refusal_record,
)
from flexcfl.protocol import Choose, Local, Train
from tests.flower.inprocess import over_the_wire

HEADING = OrderHeading("0" * 16, "1" * 16, 7, 'name = "é"\n', "float16")
ASKED, MODELS = np.array([1, 4]), np.arange(6, dtype=np.float32).reshape(2, 3)
LOCAL = Local(epochs=3, steps=2, batch=5, rate=0.1, l2=0.01, prox=0.5)
ORDER = Train(ASKED, MODELS, np.array([1, 0]), LOCAL, "placement")


def test_an_array_that_is_not_in_one_piece_arrives_in_order() -> None:
    order = Choose(ASKED[::-1], MODELS[:, ::-1])
    _, arrived = read_order(order_record(HEADING, order))
    assert isinstance(arrived, Choose)
    np.testing.assert_array_equal(arrived.models, MODELS[:, ::-1])


@pytest.mark.parametrize(
    "content",
    [
        RecordDict(),
        refusal_record("no"),
        node_info_record(NodeInfo(ASKED, 9, (2,), 3)),
        order_record(HEADING, ORDER),
    ],
)
def test_what_is_no_letter(content: RecordDict) -> None:
    about = content.config_records.get(ABOUT)
    if about is not None and "purpose" in str(about["about"]):
        about["about"] = str(about["about"]).replace('"purpose"', '"reason"')
    with pytest.raises(MalformedError):
        read_order(content)


def test_who_is_there() -> None:
    told = node_info_record(NodeInfo(np.array([7, 3, 3]), 9, (2, 5), 4))
    info = read_node_info(over_the_wire(told))
    assert info.clients.tolist() == [3, 7]
    assert (info.total, info.shape, info.classes) == (9, (2, 5), 4)


def test_a_refusal_is_read_as_its_sentence_and_not_more() -> None:
    with pytest.raises(MalformedError, match=r"^No data here\.$"):
        read_node_info(refusal_record("No data here."))
    with pytest.raises(MalformedError, match=r"^x{1000}$"):
        read_node_info(refusal_record("x" * 10**6))
