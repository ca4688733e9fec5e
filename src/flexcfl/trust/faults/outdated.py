"""Clients that answer with what they should have answered the last time."""

from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexcfl.protocol import Flags, Ids, Order, Trained, Vector, of_those

__all__ = ["Answers", "Outdated"]


@dataclass(frozen=True, eq=False)
class Outdated:
    """The last training of each client whose answers are stale, and the round of it."""

    clients: Ids
    rounds: Ids
    updates: tuple[Vector, ...]
    examples: Ids
    loss: NDArray[np.float64]
    model_of: Ids

    def __post_init__(self) -> None:
        if len({len(getattr(self, each.name)) for each in fields(self)}) > 1:
            raise ValueError("stale answers are not of as many clients each")


@dataclass(frozen=True, eq=False)
class _Answer:
    number: int
    update: Vector
    examples: int
    loss: float
    model_of: int


@dataclass(frozen=True, eq=False)
class Answers:
    """What clients with stale answers will say next, by client."""

    last: dict[int, _Answer] = field(default_factory=dict)

    def memory(self) -> Outdated:
        """Return what is known now, which does not change with these answers."""
        last = dict(sorted(self.last.items()))

        def column(name: str, dtype: type[Any]) -> NDArray[Any]:
            return np.array([getattr(each, name) for each in last.values()], dtype=dtype)

        return Outdated(
            np.array(list(last), dtype=np.int64),
            column("number", np.int64),
            tuple(each.update for each in last.values()),
            column("examples", np.int64),
            column("loss", np.float64),
            column("model_of", np.int64),
        )

    def recall(self, memory: Outdated) -> None:
        """Know what was known at some moment, and nothing else."""
        columns = (memory.rounds, memory.updates, memory.examples, memory.loss, memory.model_of)
        self.last.clear()
        for client, *own in zip(memory.clients.tolist(), *columns, strict=True):
            self.last[client] = _answer(*own)

    def stale(
        self, order: Order[Any], reply: Trained, stale: Flags, number: int
    ) -> tuple[Trained, Ids | None]:
        """Return a reply in which flagged clients send their last training, and all its rounds.

        Who has none yet is silent. What flagged clients have learnt now, if it was for the round,
        is what they send next.
        """
        if not stale.any():
            return reply, None
        known = np.array([client in self.last for client in reply.clients.tolist()])
        sent, rounds = self._replaced(reply, stale & known, number)
        if order.purpose == "training":
            self._learn(reply, stale, number)
        heard = known | ~stale
        return of_those(sent, heard), rounds[heard]

    def _replaced(self, reply: Trained, rows: Flags, number: int) -> tuple[Trained, Ids]:
        rounds = np.full(len(reply.clients), number, dtype=np.int64)
        updates, examples = reply.updates.copy(), reply.examples.copy()
        loss, model_of = reply.loss.copy(), reply.model_of.copy()
        for row in np.flatnonzero(rows):
            last = self.last[int(reply.clients[row])]
            rounds[row], updates[row], examples[row] = last.number, last.update, last.examples
            loss[row], model_of[row] = last.loss, last.model_of
        sent = replace(reply, updates=updates, examples=examples, loss=loss, model_of=model_of)
        return sent, rounds

    def _learn(self, reply: Trained, rows: Flags, number: int) -> None:
        for row in np.flatnonzero(rows):
            # A vector of its own: a row of a larger array would keep the whole cohort's in memory.
            update = reply.updates[row].copy()
            own = reply.examples[row], reply.loss[row], reply.model_of[row]
            self.last[int(reply.clients[row])] = _answer(number, update, *own)


def _answer(number: int, update: Vector, examples: int, loss: float, model_of: int) -> _Answer:
    return _Answer(int(number), update, int(examples), float(loss), int(model_of))
