"""The updates of faulty clients: corrupted ones, and stale ones from earlier rounds."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexcfl import seeds
from flexcfl.protocol import Flags, Ids, Order, Trained, TrainingOrder, Vector, of_those
from flexcfl.trust.faults.failures import KINDS

HUGE = np.float32(1e6)

Corruption: TypeAlias = Callable[[Vector, np.random.Generator], Vector]


def _nan(update: Vector, rng: np.random.Generator) -> Vector:
    # A single NaN in an honest update is the hardest to detect.
    return _with(update, rng.integers(len(update)), np.nan)


def _infinite(update: Vector, rng: np.random.Generator) -> Vector:
    return _with(update, rng.integers(len(update)), rng.choice([-np.inf, np.inf]).item())


def _huge(update: Vector, rng: np.random.Generator) -> Vector:
    with np.errstate(over="ignore"):  # numbers beyond float32 are sent as infinity
        return np.asarray(update * HUGE)


def _misshapen(update: Vector, rng: np.random.Generator) -> Vector:
    cut = rng.integers(len(update))
    wrong = (update[:cut], np.append(update, np.float32(0)), update[np.newaxis])
    return wrong[rng.integers(len(wrong))]


def _with(update: Vector, place: np.int64, value: float) -> Vector:
    changed = update.copy()
    changed[place] = value
    return changed


CORRUPTIONS: Mapping[str, Corruption] = MappingProxyType(
    {"nan": _nan, "infinite": _infinite, "huge": _huge, "misshapen": _misshapen}
)
CORRUPTING = [KINDS.index(kind) for kind in CORRUPTIONS]


def corrupted(
    order: TrainingOrder[Any], reply: Trained, kind_of: NDArray[np.int8], number: int, seed: int
) -> Trained:
    """Return a reply in which client ``i`` has the fault ``KINDS[kind_of[i]]``, or none.

    If an update has a wrong shape, ``updates`` is a list.
    """
    spoilt: dict[int, Vector] = {}
    rows = np.flatnonzero(np.isin(kind_of, CORRUPTING))
    for row, own in zip(rows.tolist(), order.draws(reply.clients[rows]), strict=True):
        kind = KINDS[kind_of[row]]
        rng = seeds.generator(seed, f"{kind} {order.purpose}", number, *own)
        spoilt[row] = CORRUPTIONS[kind](reply.updates[row], rng)
    if not spoilt:
        return reply
    if all(each.shape == reply.updates.shape[1:] for each in spoilt.values()):
        updates = reply.updates.copy()
        updates[list(spoilt)] = list(spoilt.values())
        return replace(reply, updates=updates)
    loose: Any = [spoilt.get(row, update) for row, update in enumerate(reply.updates)]
    return replace(reply, updates=loose)


@dataclass(frozen=True, eq=False)
class StaleAnswers:
    """The last training of each client whose answers are stale, and its round."""

    clients: Ids
    rounds: Ids
    updates: tuple[Vector, ...]
    examples: Ids
    loss: NDArray[np.float64]
    model_of: Ids

    def __post_init__(self) -> None:
        if len({len(getattr(self, each.name)) for each in fields(self)}) > 1:
            raise ValueError("the columns of stale answers have different lengths")


class _Answer(NamedTuple):
    """The last training of one client: a row of ``StaleAnswers`` without the client."""

    round: int
    update: Vector
    examples: int
    loss: float
    model_of: int


@dataclass(frozen=True, eq=False)
class LastAnswers:
    """The next answers of clients with stale answers, by client."""

    last: dict[int, _Answer] = field(default_factory=dict)

    def memory(self) -> StaleAnswers:
        """Return a snapshot."""
        clients = sorted(self.last)
        rows = [self.last[client] for client in clients]
        return StaleAnswers(
            np.array(clients, dtype=np.int64),
            np.array([each.round for each in rows], dtype=np.int64),
            tuple(each.update for each in rows),
            np.array([each.examples for each in rows], dtype=np.int64),
            np.array([each.loss for each in rows], dtype=np.float64),
            np.array([each.model_of for each in rows], dtype=np.int64),
        )

    def recall(self, memory: StaleAnswers) -> None:
        """Restore a snapshot."""
        columns = (memory.rounds, memory.updates, memory.examples, memory.loss, memory.model_of)
        self.last.clear()
        for client, *own in zip(memory.clients.tolist(), *columns, strict=True):
            self.last[client] = _Answer(*own)

    def stale(
        self, order: Order[Any], reply: Trained, stale: Flags, number: int
    ) -> tuple[Trained, Ids | None]:
        """Return a reply in which flagged clients send their last training, and the rounds.

        A flagged client without an earlier training does not answer. Its current training, if the
        purpose is the round itself, is its next answer.
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
            rounds[row], updates[row], examples[row], loss[row], model_of[row] = last
        sent = replace(reply, updates=updates, examples=examples, loss=loss, model_of=model_of)
        return sent, rounds

    def _learn(self, reply: Trained, rows: Flags, number: int) -> None:
        for row in np.flatnonzero(rows):
            # A separate vector: a row of a larger array would keep the whole array in memory.
            update = reply.updates[row].copy()
            own = reply.examples[row], reply.loss[row], reply.model_of[row]
            self.last[int(reply.clients[row])] = _Answer(number, update, *own)
