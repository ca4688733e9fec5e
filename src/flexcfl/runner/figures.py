"""The figures of a round: lines of the tables that grow with a run."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from flexcfl.guards import REASONS
from flexcfl.metrics import PURPOSES, Ledger, Trainees
from flexcfl.protocol import NO_GROUP, Ids, spans
from flexcfl.runner.evaluation import Evaluation

__all__ = [
    "Drift",
    "Entry",
    "Figures",
    "GroupFigures",
    "Membership",
    "Messages",
    "Missing",
    "Shifted",
    "Timing",
    "Turnout",
    "of_groups",
    "of_ledger",
    "of_members",
    "of_round",
    "of_shifts",
]


@dataclass(frozen=True)
class Drift:
    """How many clients, in a round, were touched by change, as ``Figures`` says of each number."""

    shifted: int | None
    detected: int
    placed_again: int
    migrated: int


@dataclass(frozen=True)
class Turnout:
    """Who was asked to train in a round and who answered, and what was not accepted, by reason."""

    asked: int
    answered: int
    rejected: Mapping[str, int]
    clipped: int


@dataclass(frozen=True)
class Figures:
    """What a round showed: one line of ``rounds.csv``; None where there is no figure.

    ``accuracy`` is over all clients that have arrived, each with its group's model, and None until
    every one of them has a group; where some fail to answer it is, once all were chosen on the
    tour, over those that have one. ``honest_accuracy`` is over those of them that do not attack,
    ``newcomers_accuracy`` over those with a group that arrived after the start,
    ``auxiliary_accuracy`` that of the one model beside the groups' on everybody. Where a run
    evaluates on a sample of the clients, all these are over clients of the sample, and ``accuracy``
    over those of them that have a group. ``tested`` counts the clients with a group that tested its
    model, 0 in rounds without evaluation.
    ``cohort`` counts the clients asked to train, ``trained`` those whose updates were accepted,
    ``placed`` those present that have a group. Of all clients ``shifted`` counts those whose data
    changed, and is None where only they know; ``detected`` counts those with a verdict of drift,
    ``placed_again`` those that were placed anew for it before the training, and ``migrated`` those
    that had a group and have another one now, for whatever reason.
    The columns ``rejected_...`` count, over all orders, the answers that guards turned away:
    ``late``, ``stale`` (for another round), ``invalid`` (not asked for, or naming what does not
    exist), of the wrong ``shape``, ``not_finite``, too long (``norm``), or of founders at odds with
    most or sending what another has sent (``founding``); ``clipped`` counts updates that were
    shortened. Who did not answer at all is in none of them.
    ``transfers`` are of models as the paper counts them, the bytes those of the algorithm's own
    orders and of the answers accepted; these and the rejections are with those of the start in the
    first round, and what the evaluation of the models would cost is not among them.
    """

    round: int
    accuracy: float | None
    honest_accuracy: float | None
    newcomers_accuracy: float | None
    auxiliary_accuracy: float | None
    tested: int
    loss: float | None
    discrepancy: float | None
    cohort: int
    trained: int
    placed: int
    shifted: int | None
    detected: int
    placed_again: int
    migrated: int
    rejected_late: int
    rejected_stale: int
    rejected_invalid: int
    rejected_shape: int
    rejected_not_finite: int
    rejected_norm: int
    rejected_founding: int
    clipped: int
    transfers: int
    down_bytes: int
    up_bytes: int


@dataclass(frozen=True)
class Missing:
    """Who did not answer an order, or not in time: one line of ``missing.csv``, as ``0-9 12``."""

    round: int
    order: str
    clients: str


@dataclass(frozen=True)
class Messages:
    """What an order cost on a network: one line of ``messages.csv``.

    The bytes ``wire_...`` are those of the arrays in the messages, as they can be told beforehand,
    and ``sent_...`` those of the messages as they were handed over: the difference is framing.
    """

    round: int
    order: str
    messages: int
    wire_down_bytes: int
    wire_up_bytes: int
    sent_down_bytes: int
    sent_up_bytes: int


@dataclass(frozen=True)
class Shifted:
    """Whose data changed when a round began: one line of ``shifts.csv``, as ``0-9 12``."""

    round: int
    clients: str


@dataclass(frozen=True)
class GroupFigures:
    """What a round showed of one group: one line of ``groups.csv``.

    ``loss`` and ``discrepancy`` are over its members that trained in the round, ``clients`` counts
    all of its members that are present.
    """

    round: int
    group: int
    accuracy: float | None
    loss: float | None
    clients: int
    discrepancy: float | None


@dataclass(frozen=True)
class Entry:
    """What a round cost for one purpose: one line of ``ledger.csv``; the start is in the first."""

    round: int
    purpose: str
    transfers: int
    down_bytes: int
    up_bytes: int


@dataclass(frozen=True)
class Membership:
    """A client's group from a round on (0 is the start): one line of ``membership.csv``."""

    round: int
    client: int
    group: int | None


@dataclass(frozen=True)
class Timing:
    """What a round took, in seconds: one line of ``timings.csv``; the start is in the first."""

    round: int
    training: float
    evaluation: float


def of_round(
    number: int,
    turnout: Turnout,
    members: Ids,
    trainees: Trainees,
    evaluation: Evaluation,
    drift: Drift,
    ledger: Ledger,
) -> Figures:
    """Return the figures of a whole round; ``members`` counts the clients present by group."""
    cost = ledger.total
    return Figures(
        round=number,
        accuracy=evaluation.accuracy,
        honest_accuracy=evaluation.honest,
        newcomers_accuracy=evaluation.newcomers,
        auxiliary_accuracy=evaluation.auxiliary,
        tested=evaluation.tested,
        loss=trainees.loss,
        discrepancy=trainees.discrepancy,
        cohort=turnout.asked,
        trained=turnout.answered,
        placed=int(members.sum()),
        shifted=drift.shifted,
        detected=drift.detected,
        placed_again=drift.placed_again,
        migrated=drift.migrated,
        **{f"rejected_{reason}": turnout.rejected.get(reason, 0) for reason in REASONS},
        clipped=turnout.clipped,
        transfers=cost.transfers,
        down_bytes=cost.down_bytes,
        up_bytes=cost.up_bytes,
    )


def of_ledger(number: int, ledger: Ledger) -> tuple[Entry, ...]:
    """Return what a round cost, for every purpose that it cost something for."""
    costs = ((purpose, ledger.costs[purpose]) for purpose in PURPOSES if purpose in ledger.costs)
    return tuple(
        Entry(number, purpose, cost.transfers, cost.down_bytes, cost.up_bytes)
        for purpose, cost in costs
    )


def of_members(number: int, clients: Ids, group_of: Ids) -> Iterator[Membership]:
    """Return a line for each of the clients whose group is another one than before."""
    for client, group in zip(clients.tolist(), group_of[clients].tolist(), strict=True):
        yield Membership(number, client, None if group == NO_GROUP else group)


def of_shifts(number: int, clients: Ids | None) -> tuple[Shifted, ...]:
    """Return a line if the data of some clients changed, and none where only they know."""
    if clients is None or not len(clients):
        return ()
    return (Shifted(number, spans(clients)),)


def of_groups(
    number: int, members: Ids, trainees: Trainees, evaluation: Evaluation
) -> tuple[GroupFigures, ...]:
    """Return the figures of every group; ``members`` counts the clients present by group."""
    return tuple(
        GroupFigures(
            round=number,
            group=group,
            accuracy=evaluation.groups[group] if evaluation.groups else None,
            loss=own.loss,
            clients=int(members[group]),
            discrepancy=own.discrepancy,
        )
        for group, own in enumerate(map(trainees.members, range(len(members))))
    )
