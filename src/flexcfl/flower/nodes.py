"""Which nodes there are, and which clients each of them hosts, since when."""

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

__all__ = ["DataShape", "NodeDiscovery", "Roster"]

NOWHERE = -1
PAUSE = 0.2
LIMIT = 120.0  # seconds after which a node that has not answered is asked again
AGAIN = 20.0  # seconds after which one that cannot take part is asked again

DataShape: TypeAlias = tuple[int, tuple[int, ...], int]  # clients in all, shape, classes


@dataclass(eq=False)
class NodeDiscovery:
    """Asks each node once which clients it hosts.

    ``remark`` is given the reason why a node cannot take part; ``last_refusal`` is the last such
    sentence, for the error that ends a run without enough nodes. ``shape`` is what the data of all
    nodes must be like, from the first node on.
    """

    channel: MessageChannel
    remark: Callable[[str], None]
    shape: DataShape | None = None
    last_refusal: str = ""
    _due: dict[str, int] = field(default_factory=dict)
    _again: dict[int, float] = field(default_factory=dict)  # when to ask a node again

    def look(self, heading: OrderHeading) -> list[tuple[int, NodeInfo]]:
        """Ask nodes that are new, and return those that have answered since the last look."""
        there = self.channel.nodes()
        # One that went away and came back is asked again.
        self._again = {node: self._again[node] for node in there if node in self._again}
        new = [node for node in there if node not in self._again]
        if new:
            contents = {node: order_record(heading, None) for node in new}
            due = self.channel.send(HELLO, contents, heading.round, LIMIT)
            self._due |= due
            self._again |= dict.fromkeys(due.values(), self.channel.clock() + LIMIT)
        found = [self._found(answer) for answer in self.channel.collect(self._due)]
        self._forget()
        return [each for each in found if each is not None]

    def wait(
        self, heading: OrderHeading, number: int, patience: float
    ) -> list[tuple[int, NodeInfo]]:
        """Return so many nodes once they are there, or raise ``SettingsError``."""
        found: dict[int, NodeInfo] = {}
        end = self.channel.clock() + patience
        while True:
            found |= dict(self.look(heading))
            # One that was started again may be there twice, until Flower notices.
            there = len({info.clients.tobytes() for info in found.values()})
            if there >= number:
                return list(found.items())
            if self.channel.clock() >= end:
                break
            self.channel.sleep(PAUSE)
        why = f" ({self.last_refusal})" if self.last_refusal else ""
        raise SettingsError(
            f"After {patience:g} s {there} of {number} nodes can take part{why}: start more "
            "of them and look at what they say, lower network.nodes, or wait longer "
            "(network.patience)."
        )

    def _found(self, answer: Answer) -> tuple[int, NodeInfo] | None:
        try:
            info = read_node_info(answer.checked_content())
            self._check_alike(info)
        except MalformedError as error:
            self._again[answer.node] = self.channel.clock() + AGAIN
            sentence = f"Node {answer.node} cannot take part: {error}"
            if sentence != self.last_refusal:  # it may say so again and again
                self.remark(sentence)
            self.last_refusal = sentence
            return None
        if answer.node in self._again:  # and not gone meanwhile
            self._again[answer.node] = math.inf
        return answer.node, info

    def _check_alike(self, info: NodeInfo) -> None:
        mine = (info.total, info.shape, info.classes)
        self.shape = self.shape or mine
        if mine != self.shape:
            raise MalformedError(
                f"its data are of {mine[0]} clients, shape {mine[1]} and {mine[2]} classes, and "
                f"should be of {self.shape[0]}, {self.shape[1]} and {self.shape[2]}"
            )

    def _forget(self) -> None:
        """Let nodes be asked again when their time has come, and drop their earlier messages."""
        now = self.channel.clock()
        over = {node for node, again in self._again.items() if again < now}
        for node in over:
            del self._again[node]
        self._due = {message: node for message, node in self._due.items() if node not in over}


@dataclass(eq=False)
class Roster:
    """All clients that there is room for, and which node hosts each of them.

    ``planned`` is for every client the round before which it is not to take part, though a node has
    it. A client that was there once stays, for it may only be silent. If two nodes say that they
    host a client, the later one does: it is the earlier one, restarted.
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
        """The nodes that something is expected of, the latest last."""
        return list(self._hosted)

    def join(self, node: int, clients: Ids, number: int) -> None:
        """Let a node host clients from round ``number`` on."""
        self.leave(node)
        self._hosted[node] = clients
        self._arrive(clients, number)

    def leave(self, node: int) -> None:
        """Expect nothing more of a node."""
        self._hosted.pop(node, None)

    def recall(self, arrival: Ids, number: int) -> None:
        """Know since when clients are there after round ``number``, wherever they are now."""
        self.arrival = arrival.copy()
        for clients in self._hosted.values():
            self._arrive(clients, number + 1)

    def _arrive(self, clients: Ids, number: int) -> None:
        new = clients[self.arrival[clients] == NEVER]
        self.arrival[new] = np.maximum(self.planned[new], number)
        self._cohorts = None

    def divided(self, clients: Ids) -> Iterator[tuple[int, Flags]]:
        """Yield each node that hosts some of ``clients``, with flags for those."""
        place_of = np.full(len(self.planned), NOWHERE, dtype=np.int64)
        for place, hosted in enumerate(self._hosted.values()):
            place_of[hosted] = place
        places = place_of[clients]
        for place, node in enumerate(self.nodes):
            mine = np.asarray(places == place)
            if mine.any():
                yield node, mine

    def present(self, number: int) -> Flags:
        """Return for every client whether it has arrived."""
        return self._now.present(number)

    def choose(self, number: int) -> Ids:
        """Return the cohort of a round, of the clients that have arrived."""
        return self._now.choose(number)

    def toured(self, number: int) -> bool:
        """Whether all clients present have been chosen at least once."""
        return self._now.toured(number)

    @property
    def _now(self) -> Cohorts:
        if self._cohorts is None:
            self._cohorts = Cohorts(self.seed, self.arrival, self.cohort, self.policy)
        return self._cohorts
