"""Letters and greetings as Flower's records, and back."""

import numpy as np
import pytest
from flwr.app import RecordDict

from flexcfl.flower.records import (
    ABOUT,
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
from flexcfl.protocol import Choose, Local, Train
from tests.flower.inprocess import over_the_wire

HEADING = Heading("0" * 16, "1" * 16, 7, 'name = "é"\n', "float16")
ASKED, MODELS = np.array([1, 4]), np.arange(6, dtype=np.float32).reshape(2, 3)
LOCAL = Local(epochs=3, steps=2, batch=5, rate=0.1, l2=0.01, prox=0.5)
ORDER = Train(ASKED, MODELS, np.array([1, 0]), LOCAL, "placement")


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
        letter_record(Letter(HEADING, ORDER)),
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
