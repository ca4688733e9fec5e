"""The rounds of a run, one record at a time.

The loop trains, measures and yields; writing, showing and collecting is done by whoever iterates.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Protocol, TypeVar

import numpy as np

from flexcfl import cohorts, metrics, seeds
from flexcfl.protocol import (
    Algorithm,
    Evaluate,
    Exchange,
    Executor,
    Initial,
    Order,
    Serving,
    drive,
)
from flexcfl.runner import guard
from flexcfl.runner.experiment import RunSettings

__all__ = ["Figures", "Round", "Timing", "World", "train"]

ReplyT = TypeVar("ReplyT")
ResultT = TypeVar("ResultT")


class World(Protocol):
    """Where the clients are: gives an executor for the orders of each round."""

    def at(self, number: int) -> Executor:
        """Return the executor of round ``number``; the start is round 0."""
        ...


@dataclass(frozen=True)
class Figures:
    """What a round showed: one line of ``rounds.csv``; None where there is no figure.

    ``cohort`` counts the clients asked. The bytes are those of the algorithm's own orders; what
    the evaluation of the models would cost is not among them.
    """

    round: int
    accuracy: float | None
    loss: float | None
    discrepancy: float | None
    cohort: int
    down_bytes: int
    up_bytes: int


@dataclass(frozen=True)
class Timing:
    """What a round took, in seconds: one line of ``timings.csv``."""

    round: int
    training: float
    evaluation: float


@dataclass(frozen=True, eq=False)
class Round:
    """One finished round: its figures, the models in service and the algorithm's whole state."""

    figures: Figures
    timing: Timing
    serving: Serving
    state: Any


def train(
    algorithm: Algorithm[Any], world: World, initial: Initial, clients: int, settings: RunSettings
) -> Iterator[Round]:
    """Yield the rounds of a run, from the first to the last."""
    start = algorithm.start(initial, clients, seeds.generator(settings.seed, "start"))
    state = drive(start, _Transcript(world.at(0), 0))
    for number in range(1, settings.rounds + 1):
        done = _round(algorithm, world.at(number), state, clients, settings, number)
        yield done
        state = done.state


def _round(
    algorithm: Algorithm[Any],
    executor: Executor,
    state: Any,
    clients: int,
    settings: RunSettings,
    number: int,
) -> Round:
    cohort = cohorts.choose(
        settings.cohorts, seed=settings.seed, number=number, clients=clients, size=settings.cohort
    )
    transcript = _Transcript(executor, number)
    talk = algorithm.round(state, cohort, seeds.generator(settings.seed, "round", number))
    state, training = _timed(lambda: drive(talk, transcript))
    serving = algorithm.serving(state)
    due = number % settings.evaluate_every == 0 or number == settings.rounds
    accuracy, evaluation = _timed(lambda: _accuracy(serving, executor) if due else None)
    down, up = metrics.traffic(transcript.exchanges)
    figures = Figures(
        round=number,
        accuracy=accuracy,
        loss=metrics.cohort_loss(transcript.exchanges),
        discrepancy=metrics.discrepancy(transcript.exchanges, serving),
        cohort=len(cohort),
        down_bytes=down,
        up_bytes=up,
    )
    return Round(figures, Timing(number, training, evaluation), serving, state)


class _Transcript:
    """An executor that refuses what is not finite and remembers what was said."""

    def __init__(self, executor: Executor, number: int) -> None:
        self.exchanges: list[Exchange] = []
        self._executor = executor
        self._number = number

    def __call__(self, order: Order[ReplyT]) -> ReplyT:
        reply: Any = self._executor(order)
        guard.check(reply, self._number)
        self.exchanges.append((order, reply))
        answer: ReplyT = reply
        return answer


def _accuracy(serving: Serving, executor: Executor) -> float | None:
    everybody = np.arange(len(serving.model_of))
    return metrics.accuracy(executor(Evaluate(everybody, serving.models, serving.model_of)))


def _timed(work: Callable[[], ResultT]) -> tuple[ResultT, float]:
    started = perf_counter()
    return work(), perf_counter() - started
