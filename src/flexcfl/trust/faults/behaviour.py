"""Changes of honest answers on the way to the server: clients vanish, fail and attack."""

from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from flexcfl.protocol import Executor, Flags, Order, Received, among, of_those
from flexcfl.trust.faults.attacks import Attack
from flexcfl.trust.faults.failures import KINDS, Absence, Faults, Roles
from flexcfl.trust.faults.faulty_updates import LastAnswers, StaleAnswers, corrupted

STALE = KINDS.index("stale")


@dataclass(eq=False)
class Behaviour:
    """Clients that fail and attack: ``at(round, executor)`` wraps an executor of honest clients.

    The honest clients always answer. What happens to a client depends only on (seed, kind, round,
    client), not on the other clients or the algorithm.
    """

    faults: Faults
    attack: Attack | None
    roles: Roles
    seed: int
    absence: Absence = field(init=False)
    answers: LastAnswers = field(init=False, default_factory=LastAnswers)

    def __post_init__(self) -> None:
        self.absence = Absence(self.faults, len(self.roles.hostile), self.seed)

    def at(self, number: int, executor: Executor) -> Executor:
        """Return the executor of round ``number`` (0 is the start), for use in that round only.

        Every reply is a ``Received``, except those to orders that only measure.
        """
        return _Round(self, number, executor)

    def memory(self) -> StaleAnswers:
        """Return a snapshot after a round."""
        return self.answers.memory()

    def recall(self, memory: StaleAnswers) -> None:
        """Restore a snapshot."""
        self.answers.recall(memory)


@dataclass(eq=False)
class _Round:
    """The clients of one round; ``absent`` flags those that are away or have vanished."""

    behaviour: Behaviour
    number: int
    executor: Executor
    absent: Flags | None = field(init=False)
    vanishing: Flags | None = field(init=False)
    late: Flags | None = field(init=False)

    def __post_init__(self) -> None:
        absence = self.behaviour.absence
        self.absent = absence.away(self.number)
        self.vanishing = absence.vanishing(self.number)
        self.late = absence.late(self.number)
        if self.absent is None and self.vanishing is not None:
            self.absent = np.zeros_like(self.vanishing)

    def __call__(self, order: Any) -> Any:
        """Let present clients fulfil an order, and return the reply that reaches the server."""
        if order.measures:
            return self.executor(order)
        reply, late = self._fulfilled(order), 0
        if order.trains:  # training takes time, so clients may be late, or vanish meanwhile
            reply, late = self._in_time(self._remaining(order, reply))
        if not order.brings_updates:
            return Received(self._attacked(order, reply), late=late)
        world, kind_of = self.behaviour, self.behaviour.roles.kind_of
        stale = kind_of[reply.clients] == STALE
        reply, rounds = world.answers.stale(order, reply, stale, self.number)
        reply = self._attacked(order, reply)
        reply = corrupted(order, reply, kind_of[reply.clients], self.number, world.seed)
        return Received(reply, rounds, late)

    def _fulfilled(self, order: Any) -> Any:
        """Send the order to the clients that are present, and return their reply.

        If there are none, the executor is not called, so that it cannot store keepsakes.
        """
        if self.absent is None:
            return self.executor(order)
        there = ~self.absent[order.clients]
        if there.all():
            return self.executor(order)
        return self.executor(among(order, there)) if there.any() else order.empty()

    def _remaining(self, order: Any, reply: Any) -> Any:
        """Return a reply without the clients that vanish, and mark them as absent."""
        if self.vanishing is None or self.absent is None:
            return reply
        self.absent[order.clients] |= self.vanishing[order.clients]
        return of_those(reply, ~self.vanishing[reply.clients])

    def _in_time(self, reply: Any) -> tuple[Any, int]:
        if self.late is None:
            return reply, 0
        late = self.late[reply.clients]
        return of_those(reply, ~late), int(late.sum())

    def _attacked(self, order: Order[Any], reply: Any) -> Any:
        attack, seed = self.behaviour.attack, self.behaviour.seed
        hostile = self.behaviour.roles.hostile[reply.clients]
        if attack is None or not hostile.any():
            return reply
        honest = of_those(reply, hostile)
        altered = attack.altered(order, honest, self.number, seed)
        return reply if altered is honest else _replaced(reply, hostile, altered)


def _replaced(reply: Any, rows: Flags, own: Any) -> Any:
    """Return a reply in which the rows of flagged clients are replaced."""
    if rows.all():
        return own
    parts = {each.name: getattr(reply, each.name).copy() for each in fields(reply)}
    for name, values in parts.items():
        values[rows] = getattr(own, name)
    return replace(reply, **parts)
