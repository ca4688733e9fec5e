"""The clients of a run on a network: an order becomes messages to nodes, their answers a reply."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, cast

import numpy as np

from flexcfl.errors import TrainingError
from flexcfl.experiment.experiment import NetworkSettings
from flexcfl.flower.channel import Answer
from flexcfl.flower.messages import (
    MESSAGES,
    MalformedError,
    NodeReply,
    OrderHeading,
    order_record,
    read_reply,
)
from flexcfl.flower.nodes import NodeDiscovery, Roster
from flexcfl.flower.shares import Share, down_bytes, merged_replies, translated, trimmed, up_bytes
from flexcfl.protocol import DistinctDraws, Executor, Ids, Order, Traffic, among, spans
from flexcfl.simulation import Divergence
from flexcfl.trust.privacy import PrivacyGuard

ReplyT = TypeVar("ReplyT")

PAUSE = 1.0  # seconds between two looks for nodes while none is connected
LOST = 8  # updates that a client may have released in rounds that a crashed server lost


@dataclass(frozen=True, eq=False)
class ServerMemory:
    """What the server remembers between two rounds, apart from the algorithm's state.

    Attributes:
        number: The number of the last round.
        run: The name by which nodes know the run.
        sessions: The names of the processes that held the run, this one last.
        until: The last round that counts, for each of the sessions.
        arrival: The round in which each client arrived.
        released: The largest number of updates that each client may have released.
        diverged: How many cohorts in a row have diverged completely.

    """

    number: int
    run: str
    sessions: tuple[str, ...]
    until: Ids
    arrival: Ids
    released: Ids
    diverged: int


@dataclass(eq=False)
class FlowerNetwork:
    """A federation whose clients are on nodes; ``at(round)`` executes the orders of that round.

    Attributes:
        discovery: Finds the nodes and the clients that they host.
        roster: The clients, and the node of each of them.
        heading: The heading of the orders.
        settings: The ``[network]`` settings.
        privacy_guard: The guard of the clients, if they have one. A client that has spent its
            privacy budget releases nothing.
        divergence: Ends a run whose training diverges.
        released: How many updates each client may have released.

    """

    discovery: NodeDiscovery
    roster: Roster
    heading: OrderHeading
    settings: NetworkSettings
    privacy_guard: PrivacyGuard | None = None
    divergence: Divergence = field(default_factory=Divergence)
    released: Ids = field(init=False)

    def __post_init__(self) -> None:
        self.released = np.zeros(len(self.roster.planned), dtype=np.int64)

    def at(self, number: int) -> Executor:
        """Return the executor of round ``number``, with the nodes that are connected now.

        It waits if there is none.

        Raises:
            TrainingError: If no node connects within ``settings.patience``.

        """
        self.heading = replace(self.heading, round=number)
        self._update_roster(number)
        if not self.roster.nodes:
            self._wait(number)
        return DistinctDraws(_Round(self, number))

    def _update_roster(self, number: int) -> None:
        for node, info in self.discovery.look(self.heading):
            self.roster.join(node, info.clients, number)
        for node in set(self.roster.nodes) - set(self.discovery.channel.nodes()):
            self.roster.leave(node)

    def _wait(self, number: int) -> None:
        patience, channel = self.settings.patience, self.discovery.channel
        self.discovery.remark(
            f"Round {number}: no node is connected; the run waits for {patience:g} s."
        )
        end = channel.clock() + patience
        while not self.roster.nodes:
            if channel.clock() >= end:
                raise TrainingError(
                    f"There was no node for {patience:g} s before round {number}: start them "
                    "again, then resume the run."
                )
            channel.sleep(PAUSE)
            self._update_roster(number)

    def shifted(self, number: int) -> None:
        """Do nothing: only the clients can see that their data have changed."""

    @property
    def releases(self) -> int:
        """Largest number of updates that any one client may have released."""
        return int(self.released.max(initial=0))

    def memory(self) -> ServerMemory:
        """Return what the server remembers after a round."""
        heading = self.heading
        counted = {**heading.lineage, heading.session: heading.round}
        return ServerMemory(
            *(heading.round, heading.run, tuple(counted)),
            np.fromiter(counted.values(), np.int64, len(counted)),
            self.roster.arrival.copy(),
            self.released.copy(),
            self.divergence.times,
        )

    def recall(self, memory: ServerMemory) -> None:
        """Restore the state after the round of this memory."""
        lineage = dict(zip(memory.sessions, memory.until.tolist(), strict=True))
        self.heading = replace(self.heading, round=memory.number, run=memory.run, lineage=lineage)
        self.roster.recall(memory.arrival, memory.number)
        self.released = memory.released.copy()
        if self.settings.own_files:  # clients keep counting updates of rounds that the server lost
            self.released += LOST
        self.divergence = Divergence(memory.diverged)


@dataclass(eq=False)
class _Round:
    """Executes the orders of one round; ``absent`` are the nodes that did not answer in it."""

    network: FlowerNetwork
    number: int
    absent: set[int] = field(default_factory=set)

    def __call__(self, order: Order[ReplyT]) -> ReplyT:
        """Send an order to the nodes, and return their replies as received."""
        shares, updates = self._shares(order), self.network.heading.updates
        self._count_released(order, shares.values())
        replies: list[NodeReply] = []
        traffic, late = Traffic(), 0
        for answer in self._answers(order, shares):
            share = shares[answer.node]
            reply = self._reply(share, answer)
            traffic += _traffic(share.order, answer, reply, updates)
            late += len(share.order.clients) if answer.late else 0
            replies += [] if reply is None else [reply]
        received = merged_replies(order, replies)
        self._check_divergence(order, received.reply)
        complete = replace(
            received,
            late=received.late + late,
            traffic=traffic,
            number_bytes=np.dtype(updates).itemsize,
        )
        return cast(ReplyT, complete)

    def _shares(self, order: Order[Any]) -> dict[int, Share]:
        nodes = self.network.roster.nodes_of(order.clients)
        return {
            node: trimmed(among(order, mine)) for node, mine in nodes if node not in self.absent
        }

    def _answers(self, order: Order[Any], shares: dict[int, Share]) -> Iterator[Answer]:
        network, message = self.network, MESSAGES[type(order)]
        contents = {
            node: order_record(network.heading, share.order) for node, share in shares.items()
        }
        limit = network.settings.time_limit
        return network.discovery.channel.exchange(message, contents, self.number, limit)

    def _reply(self, share: Share, answer: Answer) -> NodeReply | None:
        """Return the reply of a node, or remark that it cannot be used and return None."""
        order = share.order
        try:
            return translated(share, read_reply(order, answer.checked_content()), self.number)
        except MalformedError as error:
            self.absent.add(answer.node)
            node = f"node {answer.node} (clients {spans(order.clients)})"
            where = f"Round {self.number}, {order.kind}"
            self.network.discovery.remark(f"{where}: {node} is left out: {error}")
            return None

    def _count_released(self, order: Order[Any], shares: Iterable[Share]) -> None:
        """Count the updates that clients may release, whether they arrive or not."""
        privacy_guard, released = self.network.privacy_guard, self.network.released
        if privacy_guard is None or not order.trains:
            return
        privacy_guard.recall(released)
        for each in shares:
            clients = each.order.clients
            released[clients[~privacy_guard.spent(clients)]] += 1

    def _check_divergence(self, order: Order[Any], reply: Any) -> None:
        """End a run whose training diverges, if more than half of the clients have answered."""
        if not order.brings_updates:
            return
        updates, loss = reply.updates, reply.loss
        plain = isinstance(updates, np.ndarray) and isinstance(loss, np.ndarray) and loss.ndim == 1
        numbers = plain and (updates.dtype, loss.dtype) == (np.float32, np.float64)
        if numbers and 2 * len(loss) > len(order.clients):
            self.network.divergence.check(order, updates, loss, self.number)


def _traffic(order: Any, answer: Answer, reply: NodeReply | None, updates: str) -> Traffic:
    if not answer.down_bytes:  # it could not be reached
        return Traffic()
    rows = 0 if reply is None else len(reply.rounds)
    return Traffic(
        messages=1,
        wire_down_bytes=down_bytes(order),
        wire_up_bytes=up_bytes(order, rows, updates),
        sent_down_bytes=answer.down_bytes,
        sent_up_bytes=answer.up_bytes,
    )
