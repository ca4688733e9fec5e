"""Conversations with clients: those of an algorithm, and the evaluation of its models.

A ``ConversationResult`` has the result of one, its costs, and which clients trained and drifted.
The server's guards check every reply before the algorithm gets it.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import astuple, dataclass, field
from time import perf_counter
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from flexcfl import seeds
from flexcfl.protocol import (
    NO_GROUP,
    Checked,
    Conversation,
    Evaluate,
    Exchange,
    Executor,
    Flags,
    Ids,
    Order,
    Received,
    Serving,
    drive,
    spans,
)
from flexcfl.record import metrics
from flexcfl.record.metrics import Ledger
from flexcfl.record.tables import Evaluation, Messages, Missing
from flexcfl.trust.guards import Guards, admitted

ReplyT = TypeVar("ReplyT")
ResultT = TypeVar("ResultT")


@dataclass
class RefusedAnswers:
    """The number of answers that the guards rejected, by reason, and that they clipped."""

    rejected: Counter[str] = field(default_factory=Counter)
    clipped: int = 0

    def __add__(self, other: "RefusedAnswers") -> "RefusedAnswers":
        return RefusedAnswers(self.rejected + other.rejected, self.clipped + other.clipped)


@dataclass(frozen=True, eq=False)
class ConversationResult(Generic[ResultT]):
    """The result of a conversation, with its costs and the facts for the round's tables.

    ``training`` are the exchanges in which clients trained for the round. ``detected`` counts the
    verdicts of drift. ``placed`` are the clients that were placed before the training of the round:
    newcomers, and clients that detected drift. ``refused`` counts answers that never reached the
    algorithm. ``missing`` lists the clients that did not answer an order, and ``messages`` the
    traffic over a network.
    """

    result: ResultT
    ledger: Ledger
    seconds: float
    training: list[Exchange]
    detected: int
    placed: Ids
    refused: RefusedAnswers
    missing: tuple[Missing, ...]
    messages: tuple[Messages, ...]


def hold_conversation(
    talk: Conversation[ResultT], executor: Executor, number: int, guards: Guards
) -> ConversationResult[ResultT]:
    """Hold a conversation of round ``number`` (0 is the start) with an executor."""
    transcript = Transcript(executor, number, guards)
    result, seconds = timed(lambda: drive(talk, transcript))
    return ConversationResult(
        result,
        transcript.ledger,
        seconds,
        transcript.training,
        transcript.detected,
        np.unique(np.concatenate([np.empty(0, np.int64), *transcript.placed])),
        transcript.refused,
        tuple(transcript.missing),
        tuple(transcript.messages),
    )


def timed(work: Callable[[], ResultT]) -> tuple[ResultT, float]:
    """Return the result of a function and the seconds that it took."""
    started = perf_counter()
    return work(), perf_counter() - started


@dataclass
class Transcript:
    """An executor that returns what the guards admit, counts costs, and keeps the training.

    ``centre`` is the direction by which later founders are judged. With ``measuring``, the orders
    come from the run and not from the algorithm, which is not charged for them. All other replies
    are dropped at once, because the updates of founders may be large.
    """

    executor: Executor
    number: int
    guards: Guards
    measuring: bool = False
    ledger: Ledger = field(default_factory=Ledger)
    training: list[Exchange] = field(default_factory=list)
    detected: int = 0
    placed: list[Ids] = field(default_factory=list)
    refused: RefusedAnswers = field(default_factory=RefusedAnswers)
    centre: NDArray[np.float64] | None = None
    missing: list[Missing] = field(default_factory=list)
    messages: list[Messages] = field(default_factory=list)

    def __call__(self, order: Order[ReplyT]) -> ReplyT:
        """Execute an order and record its reply."""
        received: Any = self.executor(order)
        admission = admitted(order, received, self.number, self.guards, self.centre)
        self.centre = admission.centre
        rejected = Counter(admission.rejected)
        if self.measuring:  # late answers count as missing here, not as rejected
            del rejected["late"]
        self.refused += RefusedAnswers(rejected, admission.clipped)
        reply = admission.reply
        if len(admission.silent):
            self.missing.append(Missing(self.number, order.kind, spans(admission.silent)))
        if not isinstance(received, Received):
            received = Received(received)
        if received.traffic is not None:
            self.messages.append(Messages(self.number, order.kind, *astuple(received.traffic)))
        spent = Ledger.of((order, reply), received.number_bytes, measuring=self.measuring)
        self.ledger += spent
        if order.purpose == "training":
            self.training.append((order, reply))
        if isinstance(reply, Checked):
            self.detected += int(reply.drifted.sum())
        if order.places_again and not self.training:
            self.placed.append(reply.clients)
        answer: ReplyT = reply
        return answer


NOT_EVALUATED = Evaluation(None, None, None, None, (), 0)


def evaluation_sample(number: int | None, clients: int, seed: int) -> Ids | None:
    """Return the clients, ascending, that test models in this run; None stands for all."""
    if number is None:
        return None
    return np.sort(seeds.generator(seed, "evaluation").choice(clients, number, replace=False))


@dataclass(frozen=True, eq=False)
class Testers:
    """The clients that test models: those ``present``, or those of a ``sample`` that are.

    ``arrival`` has the round in which each client appeared. ``honest`` flags the clients that do
    not attack, if some do. ``toured()`` says whether every client has been chosen once.
    """

    present: Flags
    arrival: Ids
    sample: Ids | None = None
    toured: Callable[[], bool] = lambda: False
    honest: Flags | None = None


def evaluate(serving: Serving, testers: Testers, executor: Executor) -> Evaluation:
    """Let the clients that are present and placed test the current model of their current group."""
    present, sample = testers.present, testers.sample
    there = np.flatnonzero(present) if sample is None else sample[present[sample]]
    tested = there[serving.model_of[there] != NO_GROUP]
    order = _order(serving, tested, there)
    evaluated = executor(order)
    # A client that answers has evaluated all models that it was asked for.
    model_of = order.model_of[np.isin(order.clients, evaluated.clients)]
    placed = model_of < len(serving.models)
    newcomers = placed & (testers.arrival[evaluated.clients] > 0)
    complete = sample is not None or len(tested) == len(there) or testers.toured()
    counted = placed if complete else np.zeros_like(placed)
    honest = None if testers.honest is None else counted & testers.honest[evaluated.clients]
    return Evaluation(
        accuracy=metrics.accuracy(evaluated, counted),
        honest=None if honest is None else metrics.accuracy(evaluated, honest),
        newcomers=metrics.accuracy(evaluated, newcomers),
        auxiliary=metrics.accuracy(evaluated, ~placed),
        groups=[
            metrics.accuracy(evaluated, model_of == each) for each in range(len(serving.models))
        ],
        tested=int(np.count_nonzero(placed)),
    )


def _order(serving: Serving, tested: Ids, there: Ids) -> Evaluate:
    """Order clients with a group to test its model, and all to test the auxiliary one, if any.

    A client tests both in a row, while its data are loaded.
    """
    if serving.auxiliary is None:
        return Evaluate(tested, serving.models, serving.model_of[tested])
    clients = np.concatenate([tested, there])
    auxiliary = np.full(len(there), len(serving.models))
    model_of = np.concatenate([serving.model_of[tested], auxiliary])
    order = np.argsort(clients, kind="stable")
    models = np.concatenate([serving.models, serving.auxiliary[np.newaxis]])
    return Evaluate(clients[order], models, model_of[order])
