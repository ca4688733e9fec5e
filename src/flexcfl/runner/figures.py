"""The figures of a round: lines of ``rounds.csv``, ``groups.csv`` and ``timings.csv``."""

from dataclasses import dataclass

from flexcfl.metrics import Trainees
from flexcfl.protocol import Ids
from flexcfl.runner.evaluation import Evaluation
from flexcfl.runner.transcript import Cost

__all__ = ["Figures", "GroupFigures", "Timing", "of_groups", "of_round"]


@dataclass(frozen=True)
class Figures:
    """What a round showed: one line of ``rounds.csv``; None where there is no figure.

    ``accuracy`` is over all clients that have arrived, each with its group's model, and None until
    every one of them has a group. ``newcomers_accuracy`` is over those with a group that arrived
    after the start, ``auxiliary_accuracy`` that of the one model beside the groups' on everybody.
    ``cohort`` counts the clients asked to train, ``placed`` those present that have a group. The
    bytes are those of the algorithm's own orders; the first round's are with those of the start,
    and what the evaluation of the models would cost is not among them.
    """

    round: int
    accuracy: float | None
    newcomers_accuracy: float | None
    auxiliary_accuracy: float | None
    loss: float | None
    discrepancy: float | None
    cohort: int
    placed: int
    down_bytes: int
    up_bytes: int


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
class Timing:
    """What a round took, in seconds: one line of ``timings.csv``; the start is in the first."""

    round: int
    training: float
    evaluation: float


def of_round(
    number: int,
    cohort: int,
    members: Ids,
    trainees: Trainees,
    evaluation: Evaluation,
    cost: Cost,
) -> Figures:
    """Return the figures of a whole round; ``members`` counts the clients present by group."""
    return Figures(
        round=number,
        accuracy=evaluation.accuracy,
        newcomers_accuracy=evaluation.newcomers,
        auxiliary_accuracy=evaluation.auxiliary,
        loss=trainees.loss,
        discrepancy=trainees.discrepancy,
        cohort=cohort,
        placed=int(members.sum()),
        down_bytes=cost.down,
        up_bytes=cost.up,
    )


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
