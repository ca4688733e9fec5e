"""The rounds of a run, one at a time.

The loop trains, evaluates and yields; the caller writes, shows and collects the rounds.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from flexcfl import seeds
from flexcfl.errors import SettingsError
from flexcfl.experiment.experiment import RunSettings
from flexcfl.protocol import (
    NO_GROUP,
    Algorithm,
    Exchange,
    Executor,
    Flags,
    Ids,
    Initial,
    Serving,
    state_type,
)
from flexcfl.protocol.cohorts import Attendance
from flexcfl.record.checkpoints import unreadable_part
from flexcfl.record.metrics import Ledger, Trainees
from flexcfl.record.tables import (
    Evaluation,
    Membership,
    Messages,
    Missing,
    Round,
    RoundFacts,
    memberships,
    rows_of,
)
from flexcfl.runner.conversation import (
    NOT_EVALUATED,
    RefusedAnswers,
    Testers,
    Transcript,
    evaluate,
    evaluation_sample,
    hold_conversation,
    timed,
)
from flexcfl.trust.guards import Guards

GUARDS = Guards()


class World(Protocol):
    """The clients, wherever they are; gives an executor for the orders of each round.

    The clients' data change before a round, never during it.
    """

    def at(self, number: int) -> Executor:
        """Return the executor of round ``number``; the start is round 0."""
        ...

    def shifted(self, number: int) -> Ids | None:
        """Return the clients whose data changed when round ``number`` began, None if unknown."""
        ...


def train(
    algorithm: Algorithm[Any],
    world: World,
    initial: Initial,
    cohorts: Attendance,
    settings: RunSettings,
    past: "FinishedRounds | None" = None,
    guards: Guards = GUARDS,
    honest: Flags | None = None,
) -> Iterator[Round]:
    """Yield the rounds of a run, from the first to the last, or those after some ``past``.

    ``cohorts`` say which clients are present and which take part. ``guards`` check their answers.
    ``honest`` flags the clients that do not attack, if some do. The costs of the start are counted
    in the first round.
    """
    clients, seed = len(cohorts.arrival), settings.seed
    sample = evaluation_sample(settings.evaluate_clients, clients, seed)
    course = _Course(algorithm, world, cohorts, settings, sample, guards, honest)
    past = course.start(initial) if past is None else past
    for number in range(past.number + 1, settings.rounds + 1):
        done = course.round(past, number)
        yield done
        past = FinishedRounds(number, done.state, done.serving.model_of)


@dataclass(frozen=True, eq=False)
class FinishedRounds:
    """The state of a run after round ``number``, with every client's group.

    After the start (round 0), it also has the costs of the start, which the first round reports.
    """

    number: int
    state: Any
    model_of: Ids
    ledger: Ledger = field(default_factory=Ledger)
    seconds: float = 0.0
    members: tuple[Membership, ...] = ()
    refused: RefusedAnswers = field(default_factory=RefusedAnswers)
    missing: tuple[Missing, ...] = ()
    messages: tuple[Messages, ...] = ()


@dataclass(frozen=True, eq=False)
class _Course:
    """What all rounds share."""

    algorithm: Algorithm[Any]
    world: World
    cohorts: Attendance
    settings: RunSettings
    sample: Ids | None
    guards: Guards
    honest: Flags | None

    def start(self, initial: Initial) -> FinishedRounds:
        rng = seeds.generator(self.settings.seed, "start")
        executor, present = self.world.at(0), self.cohorts.present(0)
        talk = self.algorithm.start(initial, present, rng)
        held = hold_conversation(talk, executor, 0, self.guards)
        _check_state(self.algorithm, held.result)
        model_of = self.algorithm.serving(held.result).model_of
        members = memberships(0, np.flatnonzero(model_of != NO_GROUP), model_of)
        spent = (held.ledger, held.seconds, tuple(members), held.refused)
        return FinishedRounds(0, held.result, model_of, *spent, held.missing, held.messages)

    def round(self, past: FinishedRounds, number: int) -> Round:
        executor, present = self.world.at(number), self.cohorts.present(number)
        rng = seeds.generator(self.settings.seed, "round", number)
        talk = self.algorithm.round(past.state, self.cohorts.choose(number), present, rng)
        held = hold_conversation(talk, executor, number, self.guards)
        _check_state(self.algorithm, held.result)
        serving = self.algorithm.serving(held.result)
        listening = Transcript(executor, number, self.guards, measuring=True)
        evaluation, seconds = timed(lambda: self._evaluated(serving, present, number, listening))
        trainees = Trainees.of(held.training, serving)
        shared = Ledger.between_groups(serving.exchanged if len(trainees.losses) else 0)
        refused, before = past.refused + held.refused + listening.refused, past.model_of
        moved = np.flatnonzero(before != serving.model_of)
        again = (before[moved] != NO_GROUP) & (serving.model_of[moved] != NO_GROUP)
        asked, answered = _turnout(held.training)
        facts = RoundFacts(
            number=number,
            evaluation=evaluation,
            trainees=trainees,
            members=_members(serving, present),
            asked=asked,
            answered=answered,
            rejected=refused.rejected,
            clipped=refused.clipped,
            shifted=self.world.shifted(number),
            detected=held.detected,
            placed_again=int(np.count_nonzero(before[held.placed] != NO_GROUP)),
            migrated=int(np.count_nonzero(again)),
            ledger=past.ledger + held.ledger + shared + listening.ledger,
            moved=moved,
            group_of=serving.model_of,
            training_seconds=past.seconds + held.seconds,
            evaluation_seconds=seconds,
        )
        missing = (*past.missing, *held.missing, *listening.missing)
        messages = (*past.messages, *held.messages, *listening.messages)
        return Round(
            rows_of(facts, past.members, missing, messages),
            present=int(np.count_nonzero(present)),
            serving=serving,
            state=held.result,
        )

    def _evaluated(
        self, serving: Serving, present: Flags, number: int, executor: Executor
    ) -> Evaluation:
        due = number % self.settings.evaluate_every == 0 or number == self.settings.rounds
        if not due:
            return NOT_EVALUATED
        cohorts = self.cohorts
        testers = Testers(
            present,
            cohorts.arrival,
            self.sample,
            toured=lambda: cohorts.toured(number),
            honest=self.honest,
        )
        return evaluate(serving, testers, executor)


def _check_state(algorithm: Algorithm[Any], state: Any) -> None:
    """Refuse a state that could not be restored from a checkpoint, before a crash needs one."""
    try:
        why = unreadable_part(state_type(algorithm), state)
    except TypeError as error:
        raise SettingsError(str(error)) from None
    if why is not None:
        name = type(algorithm).__name__
        raise SettingsError(f"The state of {name} cannot be read back from a checkpoint: {why}.")


def _turnout(training: Sequence[Exchange]) -> tuple[int, int]:
    """Return the number of clients asked to train, and of those whose updates were accepted."""
    asked = _different(order.clients for order, _ in training)
    return asked, _different(reply.clients for _, reply in training)


def _different(clients: Iterable[Ids]) -> int:
    """Return the number of distinct clients; an algorithm may ask a client several times."""
    return len(np.unique(np.concatenate([np.empty(0, np.int64), *clients])))


def _members(serving: Serving, present: Flags) -> Ids:
    """Return the number of present clients in each group."""
    placed = np.flatnonzero(serving.model_of != NO_GROUP)
    there = placed[present[placed]]
    return np.bincount(serving.model_of[there], minlength=len(serving.models))
