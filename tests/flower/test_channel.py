"""Messages to nodes and their answers, within a time limit, by a clock that nobody waits for."""

import numpy as np
import pytest
from flwr.app import Context, Error, Message

from flexcfl.flower.channel import MessageChannel, message_bytes
from flexcfl.flower.messages import (
    HELLO,
    MalformedError,
    NodeInfo,
    node_info_record,
    refusal_record,
)
from tests.flower.inprocess import InProcessGrid

CONTENT = refusal_record("a question")


def echo(message: Message, context: Context) -> Message:
    info = NodeInfo(np.array([context.node_id]), 9, (1,), 2)
    return Message(node_info_record(info), reply_to=message)


def channel(grid: InProcessGrid) -> MessageChannel:
    return MessageChannel(grid, grid.clock, grid.clock.sleep)


def grid(*nodes: int) -> InProcessGrid:
    return InProcessGrid({node: {} for node in nodes}, echo)


def test_everybody_answers_and_nobody_waits() -> None:
    there = grid(1, 2)
    answers = list(channel(there).exchange(HELLO, {1: CONTENT, 2: CONTENT}, 0, 5.0))
    assert [answer.node for answer in answers] == [1, 2]
    assert there.clock.now == 0
    questions, replies = there.heard[::2], there.heard[1::2]
    assert [answer.down_bytes for answer in answers] == [message_bytes(each) for each in questions]
    assert [answer.up_bytes for answer in answers] == [message_bytes(each) for each in replies]
    assert all(
        answer.checked_content() is reply.content
        for answer, reply in zip(answers, replies, strict=True)
    )


def test_who_is_too_late_is_not_waited_for() -> None:
    there = grid(1, 2, 3)
    there.delays = {2: 3.0, 3: 60.0}
    answers = {answer.node: answer for answer in _asked(there, limit=5.0)}
    assert {node: answer.late for node, answer in answers.items()} == {1: False, 2: False, 3: True}
    assert 5 <= there.clock.now < 6
    assert answers[3].down_bytes > 0 == answers[3].up_bytes
    with pytest.raises(MalformedError, match="it did not answer within 5 s"):
        answers[3].checked_content()


def test_a_late_answer_is_no_answer_to_the_next_question() -> None:
    there = grid(1)
    there.delays = {1: 6.0}
    assert _asked(there, limit=5.0)[0].late
    there.delays = {1: 2.0}
    (answer,) = _asked(there, limit=5.0)
    assert not answer.late
    asked = [each for each in there.heard if not each.metadata.reply_to_message_id]
    assert answer.content is there.heard[-1].content
    assert there.heard[-1].metadata.reply_to_message_id == asked[1].metadata.message_id


def test_who_cannot_be_reached_is_known_at_once() -> None:
    class Full(InProcessGrid):
        def push_messages(self, messages):  # type: ignore[no-untyped-def]
            return [None, *list(super().push_messages(messages))[1:]]

    there = Full({1: {}, 2: {}}, echo)
    answers = {answer.node: answer for answer in _asked(there, limit=5.0)}
    assert answers[1].problem == "it cannot be reached"
    assert not answers[1].late
    assert answers[1].down_bytes == 0
    assert answers[2].content is not None
    assert there.clock.now == 0


def test_a_grid_that_takes_nothing() -> None:
    class Closed(InProcessGrid):
        def push_messages(self, messages):  # type: ignore[no-untyped-def]
            return []

    there = Closed({1: {}, 2: {}}, echo)
    assert [answer.problem for answer in _asked(there, limit=5.0)] == ["it cannot be reached"] * 2


def test_an_error_is_an_answer_with_its_reason() -> None:
    def failing(message: Message, context: Context) -> Message:
        return Message(Error(code=2, reason="x" * 5000), reply_to=message)

    there = InProcessGrid({1: {}}, failing)
    (answer,) = _asked(there, limit=5.0)
    assert answer.content is None
    with pytest.raises(MalformedError, match=r"^x{1000}$"):
        answer.checked_content()


def test_nobody_is_asked_nothing() -> None:
    assert not list(channel(grid()).exchange(HELLO, {}, 0, 5.0))


def _asked(there: InProcessGrid, limit: float) -> list:  # type: ignore[type-arg]
    return list(channel(there).exchange(HELLO, dict.fromkeys(there.nodes, CONTENT), 0, limit))
