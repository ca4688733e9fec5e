"""A conversation held with clients: what came of it, what it cost, and who trained."""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Generic, TypeVar

from flexcfl.metrics import traffic
from flexcfl.protocol import Conversation, Exchange, Executor, Order, Train, drive
from flexcfl.runner import guard

__all__ = ["Cost", "Held", "hold", "timed"]

ReplyT = TypeVar("ReplyT")
ResultT = TypeVar("ResultT")


@dataclass(frozen=True)
class Cost:
    """Bytes down to and up from clients, and seconds."""

    down: int = 0
    up: int = 0
    seconds: float = 0.0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.down + other.down, self.up + other.up, self.seconds + other.seconds)


@dataclass(frozen=True, eq=False)
class Held(Generic[ResultT]):
    """The result of a conversation, its cost, and the exchanges in which clients trained."""

    result: ResultT
    cost: Cost
    training: list[Exchange]


def hold(talk: Conversation[ResultT], executor: Executor, number: int) -> Held[ResultT]:
    """Hold a conversation of round ``number`` (0 is the start) with an executor."""
    transcript = _Transcript(executor, number)
    result, seconds = timed(lambda: drive(talk, transcript))
    return Held(result, Cost(transcript.down, transcript.up, seconds), transcript.training)


def timed(work: Callable[[], ResultT]) -> tuple[ResultT, float]:
    """Return the result of some work and how many seconds it took."""
    started = perf_counter()
    return work(), perf_counter() - started


@dataclass
class _Transcript:
    """An executor that refuses what is not finite, counts bytes, and remembers the training.

    Everything else that was said is forgotten at once: the updates of founders may be large.
    """

    executor: Executor
    number: int
    down: int = 0
    up: int = 0
    training: list[Exchange] = field(default_factory=list)

    def __call__(self, order: Order[ReplyT]) -> ReplyT:
        reply: Any = self.executor(order)
        guard.check(reply, self.number)
        down, up = traffic([(order, reply)])
        self.down, self.up = self.down + down, self.up + up
        if isinstance(order, Train) and order.purpose == "training":
            self.training.append((order, reply))
        answer: ReplyT = reply
        return answer
