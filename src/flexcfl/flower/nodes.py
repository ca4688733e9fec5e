"""The nodes of a run: which clients each of them hosts, and since when."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from flexcfl.errors import SettingsError
from flexcfl.flower.channel import Answer, MessageChannel
from flexcfl.flower.messages import (
    HELLO,
    MalformedError,
    NodeInfo,
    OrderHeading,
    order_record,
    read_node_info,
)
from flexcfl.protocol import Flags, Ids
from flexcfl.protocol.cohorts import NEVER, Cohorts, Policy

NOWHERE = -1
PAUSE = 0.2
LIMIT = 120.0  # seconds until a node that has not answered is asked again
AGAIN = 20.0  # seconds until a node that cannot take part is asked again

DataShape: TypeAlias = tuple[int, tuple[int, ...], int]  # clients in all, shape, classes


@dataclass(eq=False)
class NodeDiscovery:
    """Asks each node once which clients it hosts.

    Attributes:
        channel: Carries the messages.
        remark: Called with the reason why a node cannot take part.
        shape: The shape that the data of all nodes must have; by default that of the first node.
        last_refusal: The last reason, for the error that ends a run without enough nodes.

    """

    channel: MessageChannel
    remark: Callable[[str], None]
    shape: DataShape | None = None
    last_refusal: str = ""
    _due: dict[str, int] = field(default_factory=dict)
    _again: dict[int, float] = field(default_factory=dict)  # when to ask a node again

    def look(self, heading: OrderHeading) -> list[tuple[int, NodeInfo]]:
        """Ask new nodes, and return the nodes that have answered since the last call."""
        there = self.channel.nodes()
        # A node that went away and came back is asked again.
        self._again = {node: self._again[node] for node in there if node in self._again}
        new = [node for node in there if node not in self._again]
        if new:
            contents = {node: order_record(heading, None) for node in new}
            due = self.channel.send(HELLO, contents, heading.round, LIMIT)
            self._due |= due
            self._again |= dict.fromkeys(due.values(), self.channel.clock() + LIMIT)
        found = [self._read_answer(answer) for answer in self.channel.collect(self._due)]
        self._forget()
        return [each for each in found if each is not None]

    def wait(
        self, heading: OrderHeading, number: int, patience: float
    ) -> list[tuple[int, NodeInfo]]:
        """Wait for ``number`` nodes and return them, or raise ``SettingsError``."""
        found: dict[int, NodeInfo] = {}
        end = self.channel.clock() + patience
        while True:
            found |= dict(self.look(heading))
            # A node that was restarted is listed twice until Flower notices.
            there = len({info.clients.tobytes() for info in found.values()})
            if there >= number:
                return list(found.items())
            if self.channel.clock() >= end:
                break
            self.channel.sleep(PAUSE)
        why = f" ({self.last_refusal})" if self.last_refusal else ""
        raise SettingsError(
            f"After {patience:g} s {there} of {number} nodes can take part{why}: start more "
            "nodes and read their logs, lower network.nodes, or wait longer "
            "(network.patience)."
        )

    def _read_answer(self, answer: Answer) -> tuple[int, NodeInfo] | None:
        try:
            info = read_node_info(answer.checked_content())
            self._check_shape(info)
        except MalformedError as error:
            self._again[answer.node] = self.channel.clock() + AGAIN
            sentence = f"Node {answer.node} cannot take part: {error}"
            if sentence != self.last_refusal:  # a node may repeat it
                self.remark(sentence)
            self.last_refusal = sentence
            return None
        if answer.node in self._again:  # the node has not left meanwhile
            self._again[answer.node] = math.inf
        return answer.node, info

    def _check_shape(self, info: NodeInfo) -> None:
        mine = (info.total, info.shape, info.classes)
        self.shape = self.shape or mine
        if mine != self.shape:
            raise MalformedError(
                f"its data have {mine[0]} clients, shape {mine[1]} and {mine[2]} classes, and "
                f"should have {self.shape[0]}, {self.shape[1]} and {self.shape[2]}"
            )

    def _forget(self) -> None:
        """Let nodes be asked again when their time is up, and drop their earlier messages."""
        now = self.channel.clock()
        over = {node for node, again in self._again.items() if again < now}
        for node in over:
            del self._again[node]
        self._due = {message: node for message, node in self._due.items() if node not in over}


@dataclass(eq=False)
class Roster:
    """The clients of a federation, and the node that hosts each of them.

    A client that has arrived stays in the roster, even if its node is silent. If two nodes claim
    the same client, the later one has it: it is usually the earlier one after a restart.

    Attributes:
        seed: The seed from which cohorts are drawn.
        planned: The first round in which each client may take part.
        cohort: The number of clients in a cohort.
        policy: How cohorts are drawn.
        arrival: The round in which each client arrived, or ``NEVER``.

    """

    seed: int
    planned: Ids
    cohort: int
    policy: Policy = "uniform"
    arrival: Ids = field(init=False)
    _hosted: dict[int, Ids] = field(init=False, default_factory=dict)
    _cohorts: Cohorts | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.arrival = np.full(len(self.planned), NEVER, dtype=np.int64)

    @property
    def nodes(self) -> list[int]:
        """The nodes that are expected to answer, the latest last."""
        return list(self._hosted)

    def join(self, node: int, clients: Ids, number: int) -> None:
        """Add a node that hosts clients from round ``number`` on."""
        self.leave(node)
        self._hosted[node] = clients
        self._arrive(clients, number)

    def leave(self, node: int) -> None:
        """Remove a node."""
        self._hosted.pop(node, None)

    def recall(self, arrival: Ids, number: int) -> None:
        """Restore when clients arrived, as it was after round ``number``."""
        self.arrival = arrival.copy()
        for clients in self._hosted.values():
            self._arrive(clients, number + 1)

    def _arrive(self, clients: Ids, number: int) -> None:
        new = clients[self.arrival[clients] == NEVER]
        self.arrival[new] = np.maximum(self.planned[new], number)
        self._cohorts = None

    def nodes_of(self, clients: Ids) -> Iterator[tuple[int, Flags]]:
        """Yield each node that hosts some of ``clients``, with flags that mark them."""
        index_of = np.full(len(self.planned), NOWHERE, dtype=np.int64)
        for index, hosted in enumerate(self._hosted.values()):
            index_of[hosted] = index
        indices = index_of[clients]
        for index, node in enumerate(self.nodes):
            mine = np.asarray(indices == index)
            if mine.any():
                yield node, mine

    def present(self, number: int) -> Flags:
        """Return whether each client has arrived."""
        return self._now.present(number)

    def choose(self, number: int) -> Ids:
        """Return the cohort of a round, drawn from the clients that have arrived."""
        return self._now.choose(number)

    def toured(self, number: int) -> bool:
        """Return whether every client present has been chosen at least once."""
        return self._now.toured(number)

    @property
    def _now(self) -> Cohorts:
        if self._cohorts is None:
            self._cohorts = Cohorts(self.seed, self.arrival, self.cohort, self.policy)
        return self._cohorts
