"""Messages to nodes over Flower's ``Grid``, and their answers within a time limit."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from flwr.app import Message, RecordDict
from flwr.serverapp import Grid
from flwr.supercore.inflatable.inflatable_object import get_all_nested_objects

from flexcfl.flower.messages import LONGEST, MalformedError

PAUSE = 0.2  # seconds between two looks for answers
AFTERWARDS = 5.0  # seconds for which a message stays valid after the limit


@dataclass(frozen=True, eq=False)
class Answer:
    """The answer of a node to a message: its content, or the problem if there is none.

    ``down_bytes`` and ``up_bytes`` are the sizes of the whole messages to the node and back.
    """

    node: int
    content: RecordDict | None
    problem: str = ""
    late: bool = False
    down_bytes: int = 0
    up_bytes: int = 0

    def checked_content(self) -> RecordDict:
        """Return the content, or raise ``MalformedError`` with the problem if there is none."""
        if self.content is None:
            raise MalformedError(self.problem)
        return self.content


@dataclass(frozen=True, eq=False)
class MessageChannel:
    """Sends messages to the nodes of a grid, and collects their answers."""

    grid: Grid
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def nodes(self) -> list[int]:
        """Return the nodes that are connected now."""
        return sorted(self.grid.get_node_ids())

    def send(
        self, kind: str, contents: Mapping[int, RecordDict], number: int, limit: float
    ) -> dict[str, int]:
        """Send each node its content, and return the node of each message."""
        return self._push(self._messages(kind, contents, number, limit))

    def _messages(
        self, kind: str, contents: Mapping[int, RecordDict], number: int, limit: float
    ) -> list[Message]:
        return [
            Message(content, node, kind, ttl=limit + AFTERWARDS, group_id=str(number))
            for node, content in contents.items()
        ]

    def _push(self, messages: list[Message]) -> dict[str, int]:
        sent = self.grid.push_messages(messages) if messages else []
        pairs = zip(sent, messages, strict=False)  # a grid that takes no message returns nothing
        return {name: message.metadata.dst_node_id for name, message in pairs if name}

    def collect(self, due: dict[str, int]) -> Iterator[Answer]:
        """Yield the answers that have come in, and remove their messages from ``due``."""
        for message in self.grid.pull_messages(list(due)) if due else ():
            # The SuperLink sends errors in its own name, so the sender does not name the node.
            node = due.pop(message.metadata.reply_to_message_id, None)
            if node is None:
                continue
            if message.has_error():
                yield Answer(node, None, (message.error.reason or "it failed")[:LONGEST])
            else:
                yield Answer(node, message.content, up_bytes=message_bytes(message))

    def exchange(
        self, kind: str, contents: Mapping[int, RecordDict], number: int, limit: float
    ) -> Iterator[Answer]:
        """Yield the answer of each node as it comes in; those that miss the limit are late."""
        messages = self._messages(kind, contents, number, limit)
        sizes = {each.metadata.dst_node_id: message_bytes(each) for each in messages}
        due, end = self._push(messages), self.clock() + limit
        for node in contents.keys() - set(due.values()):
            yield Answer(node, None, "it cannot be reached")
        while True:
            for answer in self.collect(due):
                yield replace(answer, down_bytes=sizes[answer.node])
            if not due or self.clock() >= end:
                break
            self.sleep(PAUSE)
        for node in due.values():
            why = f"it did not answer within {limit:g} s"
            yield Answer(node, None, why, late=True, down_bytes=sizes[node])


def message_bytes(message: Message) -> int:
    """Return the size of a message in bytes, with all objects that it consists of."""
    return sum(len(each.deflate()) for each in get_all_nested_objects(message).values())
