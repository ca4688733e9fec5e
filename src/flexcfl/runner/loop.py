"""The rounds of a run, one record at a time.

The loop trains, measures and yields; writing, showing and collecting is done by whoever iterates.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from flexcfl import cohorts, seeds
from flexcfl.metrics import Trainees
from flexcfl.protocol import (
    NO_GROUP,
    Algorithm,
    Exchange,
    Executor,
    Flags,
    Ids,
    Initial,
    Serving,
    Train,
)
from flexcfl.runner import figures
from flexcfl.runner.evaluation import NOT_EVALUATED, Evaluation, evaluate
from flexcfl.runner.experiment import RunSettings
from flexcfl.runner.figures import Figures, GroupFigures, Timing
from flexcfl.runner.transcript import Cost, Held, hold, timed

__all__ = ["Round", "World", "train"]


class World(Protocol):
    """Where the clients are: gives an executor for the orders of each round."""

    def at(self, number: int) -> Executor:
        """Return the executor of round ``number``; the start is round 0."""
        ...


@dataclass(frozen=True, eq=False)
class Round:
    """One finished round: its figures, the models in service and the algorithm's whole state.

    ``present`` counts the clients that have arrived.
    """

    figures: Figures
    groups: tuple[GroupFigures, ...]
    timing: Timing
    present: int
    serving: Serving
    state: Any


def train(
    algorithm: Algorithm[Any], world: World, initial: Initial, arrival: Ids, settings: RunSettings
) -> Iterator[Round]:
    """Yield the rounds of a run, from the first to the last.

    ``arrival`` has for every client the round in which it appears, 0 for the start. What the start
    costs is counted with the first round.
    """
    course = _Course(algorithm, world, arrival, settings)
    started = course.start(initial)
    state, before = started.result, started.cost
    del started  # and with it what the start may have trained
    for number in range(1, settings.rounds + 1):
        done = course.round(state, number, before)
        yield done
        state, before = done.state, Cost()


@dataclass(frozen=True, eq=False)
class _Course:
    """What is the same in all rounds."""

    algorithm: Algorithm[Any]
    world: World
    arrival: Ids
    settings: RunSettings

    def start(self, initial: Initial) -> Held[Any]:
        rng = seeds.generator(self.settings.seed, "start")
        talk = self.algorithm.start(initial, cohorts.present(self.arrival, 0), rng)
        return hold(talk, self.world.at(0), 0)

    def round(self, state: Any, number: int, before: Cost) -> Round:
        executor, present = self.world.at(number), cohorts.present(self.arrival, number)
        rng = seeds.generator(self.settings.seed, "round", number)
        talk = self.algorithm.round(state, self._cohort(number), present, rng)
        held = hold(talk, executor, number)
        serving = self.algorithm.serving(held.result)
        evaluation, seconds = timed(lambda: self._evaluated(serving, present, number, executor))
        trainees, cost = Trainees.of(held.training, serving), held.cost + before
        members, cohort = _members(serving, present), _asked(held.training)
        return Round(
            figures.of_round(number, cohort, members, trainees, evaluation, cost),
            figures.of_groups(number, members, trainees, evaluation),
            Timing(number, cost.seconds, seconds),
            present=int(present.sum()),
            serving=serving,
            state=held.result,
        )

    def _cohort(self, number: int) -> Ids:
        settings = self.settings
        return cohorts.choose(
            settings.cohorts,
            seed=settings.seed,
            number=number,
            arrival=self.arrival,
            size=settings.cohort,
        )

    def _evaluated(
        self, serving: Serving, present: Flags, number: int, executor: Executor
    ) -> Evaluation:
        due = number % self.settings.evaluate_every == 0 or number == self.settings.rounds
        return evaluate(serving, present, self.arrival > 0, executor) if due else NOT_EVALUATED


def _asked(training: Sequence[Exchange]) -> int:
    """Return how many clients were asked to train for the round."""
    return sum(len(order.clients) for order, _ in training if isinstance(order, Train))


def _members(serving: Serving, present: Flags) -> Ids:
    """Return how many clients that are present each group has."""
    placed = serving.model_of[present & (serving.model_of != NO_GROUP)]
    return np.bincount(placed, minlength=len(serving.models))
