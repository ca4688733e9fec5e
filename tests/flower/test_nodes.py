"""Which nodes there are and whom they host: they say so, come and go, and may not fit."""

from typing import Any

import numpy as np
import pytest
from flwr.app import Context, Error, Message, RecordDict
from hypothesis import given
from hypothesis import strategies as st

from flexcfl.errors import SettingsError
from flexcfl.flower.channel import MessageChannel
from flexcfl.flower.messages import NodeInfo, OrderHeading, node_info_record, refusal_record
from flexcfl.flower.nodes import AGAIN, LIMIT, NodeDiscovery, Roster
from flexcfl.protocol.cohorts import NEVER, Cohorts
from tests.flower.inprocess import InProcessGrid

HEADING = OrderHeading("0" * 16, "1" * 16, 0, "")
HOSTS = NodeInfo(np.array([0, 1]), 9, (2, 2), 3)


class Meeting:
    """A grid of nodes that answer what they are told to, and what was remarked of them."""

    def __init__(self, **answers: RecordDict | Error) -> None:
        self.answers = {int(name[1:]): answer for name, answer in answers.items()}
        self.grid = InProcessGrid({node: {} for node in self.answers}, self._answer)
        self.remarks: list[str] = []
        post = MessageChannel(self.grid, self.grid.clock, self.grid.clock.sleep)
        self.discovery = NodeDiscovery(post, self.remarks.append)

    def _answer(self, message: Message, context: Context) -> Message:
        return Message(self.answers[context.node_id], reply_to=message)

    def look(self) -> list[int]:
        return [node for node, _ in self.discovery.look(HEADING)]


def hosts(**changes: Any) -> RecordDict:
    return node_info_record(NodeInfo(**{**vars(HOSTS), **changes}))


OTHERS = hosts(clients=np.array([3]))


def test_every_node_is_asked_once() -> None:
    meeting = Meeting(n1=hosts(), n2=hosts())
    assert meeting.look() == [1, 2]
    assert meeting.look() == []
    assert len(meeting.grid.heard) == 4


def test_a_node_that_went_away_and_came_back_is_asked_again() -> None:
    meeting = Meeting(n1=hosts(), n2=hosts())
    meeting.look()
    meeting.grid.down = {2}
    assert meeting.look() == []
    meeting.grid.down = set()
    assert meeting.look() == [2]


def test_a_slow_node_is_heard_later_and_a_silent_one_asked_again() -> None:
    meeting = Meeting(n1=hosts(), n2=hosts())
    meeting.grid.delays, meeting.grid.silent = {1: 10.0}, {2}
    assert meeting.look() == []
    meeting.grid.clock.sleep(11)
    assert meeting.look() == [1]
    meeting.grid.silent = set()
    assert meeting.look() == []
    meeting.grid.clock.sleep(LIMIT)
    assert meeting.look() == []  # which finds out that it is overdue
    assert meeting.look() == [2]


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (hosts(total=8), "its data have 8 clients, shape (2, 2) and 3 classes"),
        (hosts(shape=(4,)), "and should have 9, (2, 2) and 3"),
        (hosts(classes=2), "2 classes"),
        (hosts(clients=np.array([9])), "a client beyond the 9"),
        (hosts(clients=np.array([-1])), "a client beyond the 9"),
        (hosts(clients=np.empty(0, np.int64)), "does not say which clients"),
        (hosts(clients=np.array([1.0])), "does not say which clients"),
        (hosts(clients=np.array([[1]])), "does not say which clients"),
        (hosts(shape=("a",)), "'a' is not a whole number"),
        (hosts(shape=()), "data that cannot exist"),
        (hosts(shape=(0, 3)), "data that cannot exist"),
        (hosts(shape=(10**6, 10**6)), "data that cannot exist"),
        (hosts(total=10**12), "data that cannot exist"),
        (hosts(total=10**15), "is not a whole number"),
        (hosts(classes=0), "data that cannot exist"),
        (hosts(classes=None), "None is not a whole number"),
        (refusal_record("This node has no data."), "This node has no data."),
        (Error(code=1, reason="it fell over"), "it fell over"),
        (RecordDict(), "not a message of flexcfl"),
    ],
)
def test_who_cannot_take_part_is_told_off(other: RecordDict | Error, why: str) -> None:
    meeting = Meeting(n1=hosts(), n2=other)
    assert meeting.look() == [1]
    (remark,) = meeting.remarks
    assert remark.startswith("Node 2 cannot take part: ")
    assert why in remark
    assert meeting.look() == []
    assert len(meeting.remarks) == 1


def test_a_number_too_many_of_nodes_is_fine() -> None:
    meeting = Meeting(n1=hosts(), n2=OTHERS, n3=OTHERS)
    assert [node for node, _ in meeting.discovery.wait(HEADING, 2, 5.0)] == [1, 2, 3]
    assert meeting.grid.clock.now == 0


def test_a_node_that_is_there_twice_counts_once() -> None:
    meeting = Meeting(n1=hosts(), n2=hosts())
    with pytest.raises(SettingsError, match="After 5 s 1 of 2 nodes"):
        meeting.discovery.wait(HEADING, 2, 5.0)


def test_who_could_not_take_part_is_asked_again_after_a_while_and_told_of_once() -> None:
    meeting = Meeting(n1=hosts(), n2=refusal_record("A file is half written."))
    for _ in range(3):
        meeting.look()
        meeting.grid.clock.sleep(AGAIN + 1)
    assert len(meeting.remarks) == 1
    meeting.answers[2] = OTHERS
    meeting.look()
    meeting.grid.clock.sleep(AGAIN + 1)
    assert meeting.look() == [2]


def test_nodes_are_waited_for() -> None:
    meeting = Meeting(n1=hosts(), n2=OTHERS)
    meeting.grid.down = {2}
    meeting.grid.clock.alarm = lambda now: meeting.grid.down.clear() if now > 3 else None
    assert [node for node, _ in meeting.discovery.wait(HEADING, 2, 5.0)] == [1, 2]
    assert 3 < meeting.grid.clock.now < 4


def test_too_few_nodes_are_one_sentence_with_a_reason() -> None:
    meeting = Meeting(n1=hosts(), n2=refusal_record("This node has no data."))
    with pytest.raises(SettingsError) as raised:
        meeting.discovery.wait(HEADING, 2, 5.0)
    assert str(raised.value) == (
        "After 5 s 1 of 2 nodes can take part (Node 2 cannot take part: This node has no data.): "
        "start more nodes and read their logs, lower network.nodes, or wait longer "
        "(network.patience)."
    )
    assert 5 <= meeting.grid.clock.now < 6


def test_what_data_must_be_like_may_be_known_beforehand() -> None:
    meeting = Meeting(n1=hosts(total=8), n2=hosts())
    meeting.discovery.shape = (9, (2, 2), 3)
    assert meeting.look() == [2]


# ---- and since when clients are there

CLIENTS = 6


def roster(planned: list[int] | None = None, cohort: int = 2) -> Roster:
    return Roster(0, np.array(planned or [0] * CLIENTS), cohort)


def divided(found: Roster, clients: list[int]) -> dict[int, list[int]]:
    asked = np.array(clients)
    return {node: asked[mine].tolist() for node, mine in found.nodes_of(asked)}


def test_clients_are_asked_where_they_are() -> None:
    found = roster()
    found.join(2**63, np.array([0, 1]), 0)
    found.join(7, np.array([3, 4]), 0)
    assert divided(found, [4, 3, 2, 1]) == {2**63: [1], 7: [4, 3]}
    assert divided(found, [2, 5]) == {}


def test_of_two_nodes_with_one_client_the_later_has_it_as_long_as_it_is_there() -> None:
    found = roster()
    found.join(1, np.array([0, 1]), 0)
    found.join(2, np.array([1, 2]), 0)
    assert divided(found, [0, 1, 2]) == {1: [0], 2: [1, 2]}
    found.join(1, np.array([0, 1]), 3)  # it came back
    assert divided(found, [0, 1, 2]) == {1: [0, 1], 2: [2]}
    found.leave(1)
    assert divided(found, [0, 1, 2]) == {2: [1, 2]}
    found.leave(1)
    assert found.nodes == [2]


def test_a_node_may_come_back_with_other_clients() -> None:
    found = roster()
    found.join(1, np.array([0, 1]), 0)
    found.join(1, np.array([1, 2]), 2)
    assert divided(found, [0, 1, 2]) == {1: [1, 2]}
    assert found.arrival.tolist() == [0, 0, 2, NEVER, NEVER, NEVER]


def test_who_was_there_once_stays_and_who_is_new_arrives() -> None:
    found = roster(planned=[0, 0, 5, 5, 0, 0], cohort=1)
    found.join(1, np.array([0, 2]), 0)
    assert found.present(0).tolist() == [True] + [False] * 5
    found.leave(1)
    assert found.present(9).tolist() == [True, False, True, False, False, False]
    found.join(2, np.array([0, 3, 4]), 7)
    assert found.arrival.tolist() == [0, NEVER, 5, 7, 7, NEVER]


def test_what_was_known_before_a_crash_and_who_is_new_since() -> None:
    found = roster(cohort=1)
    found.join(1, np.array([0, 1]), 0)
    found.join(2, np.array([4]), 0)
    before = np.array([0, 3, 2, NEVER, NEVER, NEVER])
    found.recall(before, 5)
    assert found.arrival.tolist() == [0, 3, 2, NEVER, 6, NEVER]
    assert before.tolist() == [0, 3, 2, NEVER, NEVER, NEVER]
    assert found.present(5).tolist() == [True, True, True, False, False, False]


@given(
    order=st.permutations(range(CLIENTS)),
    parts=st.integers(1, CLIENTS),
    policy=st.sampled_from(["uniform", "round-robin-then-uniform"]),
)
def test_cohorts_do_not_depend_on_who_hosts_whom(order: list[int], parts: int, policy: str) -> None:
    planned = np.array([0, 0, 0, 2, 2, 4])
    found = Roster(3, planned, 2, policy)  # type: ignore[arg-type]
    for node, clients in enumerate(np.array_split(np.array(order), parts)):
        found.join(node, np.sort(clients), 0)
    simulated = Cohorts(3, planned, 2, policy)  # type: ignore[arg-type]
    for number in range(1, 8):
        np.testing.assert_array_equal(found.choose(number), simulated.choose(number))
        np.testing.assert_array_equal(found.present(number), simulated.present(number))
        assert found.toured(number) == simulated.toured(number)


@given(joining=st.integers(2, 5))
def test_who_joins_later_changes_no_cohort_before(joining: int) -> None:
    early, late = roster(), roster()
    for found in (early, late):
        found.join(1, np.arange(4), 0)
    late.join(2, np.array([4, 5]), joining)
    for number in range(1, joining):
        np.testing.assert_array_equal(early.choose(number), late.choose(number))
    chosen = np.concatenate([late.choose(number) for number in range(joining, joining + 30)])
    assert set(chosen.tolist()) == set(range(CLIENTS))
