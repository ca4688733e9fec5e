"""The tables that grow with a run: one declaration of each, column by column.

A column says what it means and, in the tables with a line per round, group or purpose, how it
follows from what is known of a round. Files, folders, figures and docs/folder.md follow from here.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexcfl.protocol import NO_GROUP, Ids, Serving, spans
from flexcfl.record.metrics import PURPOSES, Cost, Ledger, Trainees

__all__ = [
    *("GROUPS", "LEDGER", "MEMBERSHIP", "MESSAGES", "MISSING", "ROUNDS", "SHIFTS", "TABLES"),
    *("Columns", "Evaluation", "GroupFigures", "LedgerEntry", "Membership", "Messages", "Missing"),
    *("Round", "RoundFacts", "RoundFigures", "Rows", "Shifted", "TableSchema", "Timing", "TIMINGS"),
    *("columns", "memberships", "rows_of", "columns_by_table"),
]

Columns: TypeAlias = Mapping[str, NDArray[Any]]
Rows: TypeAlias = Mapping[str, Sequence[Any]]
"""The rows of each table, by the name of its file."""

ROUNDS, GROUPS, LEDGER = "rounds.csv", "groups.csv", "ledger.csv"
MEMBERSHIP, TIMINGS, MISSING = "membership.csv", "timings.csv", "missing.csv"
MESSAGES, SHIFTS = "messages.csv", "shifts.csv"


@dataclass(frozen=True)
class Evaluation:
    """Accuracies on test data; None where there is nothing to test or nobody to test it.

    ``accuracy`` is None until everybody present has a group or, where some do not answer, had the
    occasion to find one; if a sample is tested it is over those of the sample that have one.
    ``honest`` is the same over clients that mean well, where not all do. ``groups`` has one entry
    for each group, or none where nothing was evaluated. ``tested`` counts the clients that tested
    the model of their group.
    """

    accuracy: float | None
    honest: float | None
    newcomers: float | None
    auxiliary: float | None
    groups: Sequence[float | None]
    tested: int


@dataclass(frozen=True, eq=False)
class RoundFacts:
    """All that is known of a round when it is over.

    ``members`` counts the clients present by group. ``asked`` clients were asked to train, and the
    updates of ``answered`` were accepted. ``rejected`` counts answers by reason. ``shifted`` are
    the clients whose data changed, None where only they know. ``moved`` are the clients whose group
    is another one than before, and ``group_of`` is every client's group now.
    """

    number: int
    evaluation: Evaluation
    trainees: Trainees
    members: Ids
    asked: int
    answered: int
    rejected: Mapping[str, int]
    clipped: int
    shifted: Ids | None
    detected: int
    placed_again: int
    migrated: int
    ledger: Ledger
    moved: Ids
    group_of: Ids
    training_seconds: float
    evaluation_seconds: float

    @property
    def cost(self) -> Cost:
        """What the round sent in all."""
        return self.ledger.total


def column(meaning: str, value: Callable[..., Any] | None = None) -> Any:
    """Declare a column; ``value`` returns what a row has there."""
    return field(metadata={"meaning": meaning, "value": value})


def _row(kind: type[Any], *known: Any) -> Any:
    return kind(*(each.metadata["value"](*known) for each in fields(kind)))


def _refused(reason: str) -> Callable[[RoundFacts], int]:
    return lambda facts: facts.rejected.get(reason, 0)


@dataclass(frozen=True)
class RoundFigures:
    """What a round showed; None where there is no figure."""

    round: int = column("number of the round", lambda facts: facts.number)
    accuracy: float | None = column(
        "accuracy over all clients that have arrived, each on its group's model; empty until every "
        "one has a group (where some fail to answer, until all were chosen once)",
        lambda facts: facts.evaluation.accuracy,
    )
    honest_accuracy: float | None = column(
        "the same over the clients that do not attack", lambda facts: facts.evaluation.honest
    )
    newcomers_accuracy: float | None = column(
        "accuracy over the clients with a group that arrived after the start",
        lambda facts: facts.evaluation.newcomers,
    )
    auxiliary_accuracy: float | None = column(
        "accuracy of the one model beside the groups' on everybody",
        lambda facts: facts.evaluation.auxiliary,
    )
    tested: int = column(
        "clients that tested their group's model; 0 in rounds without evaluation",
        lambda facts: facts.evaluation.tested,
    )
    loss: float | None = column(
        "mean training loss of the cohort's last local epoch", lambda facts: facts.trainees.loss
    )
    discrepancy: float | None = column(
        "discrepancy of the cohort (Equation 3 of the paper)",
        lambda facts: facts.trainees.discrepancy,
    )
    cohort: int = column("clients asked to train", lambda facts: facts.asked)
    trained: int = column("clients whose updates were accepted", lambda facts: facts.answered)
    placed: int = column(
        "clients present that have a group", lambda facts: int(facts.members.sum())
    )
    shifted: int | None = column(
        "clients whose data changed; empty where only they know",
        lambda facts: None if facts.shifted is None else len(facts.shifted),
    )
    detected: int = column("clients that detected drift", lambda facts: facts.detected)
    placed_again: int = column(
        "clients placed anew for it before the training", lambda facts: facts.placed_again
    )
    migrated: int = column(
        "clients that had a group and have another one now", lambda facts: facts.migrated
    )
    rejected_late: int = column("answers refused because they came late", _refused("late"))
    rejected_stale: int = column("because they were for another round", _refused("stale"))
    rejected_invalid: int = column(
        "because nobody asked for them, or they name what does not exist", _refused("invalid")
    )
    rejected_shape: int = column("because they had the wrong shape", _refused("shape"))
    rejected_not_finite: int = column("because they were not finite", _refused("not_finite"))
    rejected_norm: int = column("because they were too long", _refused("norm"))
    rejected_founding: int = column(
        "of founders at odds with most, or copies of another's", _refused("founding")
    )
    clipped: int = column("updates that were shortened", lambda facts: facts.clipped)
    transfers: int = column(
        "model transfers as the paper counts them; those of the start are in the first round",
        lambda facts: facts.cost.transfers,
    )
    down_bytes: int = column("bytes sent to clients", lambda facts: facts.cost.down_bytes)
    up_bytes: int = column("bytes accepted from clients", lambda facts: facts.cost.up_bytes)


@dataclass(frozen=True)
class GroupFigures:
    """What a round showed of one group."""

    round: int = column("number of the round", lambda facts, group: facts.number)
    group: int = column("number of the group", lambda facts, group: group)
    accuracy: float | None = column(
        "accuracy over its members", lambda facts, group: _of_group(facts.evaluation, group)
    )
    loss: float | None = column(
        "training loss of its members that trained",
        lambda facts, group: facts.trainees.members(group).loss,
    )
    clients: int = column(
        "members that are present", lambda facts, group: int(facts.members[group])
    )
    discrepancy: float | None = column(
        "discrepancy of its members that trained",
        lambda facts, group: facts.trainees.members(group).discrepancy,
    )


def _of_group(evaluation: Evaluation, group: int) -> float | None:
    return evaluation.groups[group] if evaluation.groups else None


@dataclass(frozen=True)
class LedgerEntry:
    """What a round cost for one purpose; the start is in the first round."""

    round: int = column("number of the round", lambda facts, purpose: facts.number)
    purpose: str = column(
        "training, cold-start, directions, assignment, query, inter-group, drift or evaluation",
        lambda facts, purpose: purpose,
    )
    transfers: int = column(
        "model transfers", lambda facts, purpose: facts.ledger.costs[purpose].transfers
    )
    down_bytes: int = column(
        "bytes sent to clients", lambda facts, purpose: facts.ledger.costs[purpose].down_bytes
    )
    up_bytes: int = column(
        "bytes accepted from clients", lambda facts, purpose: facts.ledger.costs[purpose].up_bytes
    )


@dataclass(frozen=True)
class Membership:
    """A client's group from a round on."""

    round: int = column("number of the round; 0 is the start")
    client: int = column("number of the client")
    group: int | None = column("its group from now on; empty for none")


@dataclass(frozen=True)
class Timing:
    """What a round took, in seconds; the start is in the first round."""

    round: int = column("number of the round", lambda facts: facts.number)
    training: float = column(
        "seconds of the algorithm's round", lambda facts: facts.training_seconds
    )
    evaluation: float = column("seconds of evaluation", lambda facts: facts.evaluation_seconds)


@dataclass(frozen=True)
class Missing:
    """Which clients did not answer an order, or not in time."""

    round: int = column("number of the round")
    order: str = column("the order")
    clients: str = column("their numbers, as `0-9 12`")


@dataclass(frozen=True)
class Messages:
    """What an order cost on a network."""

    round: int = column("number of the round")
    order: str = column("the order")
    messages: int = column("number of messages")
    wire_down_bytes: int = column("bytes of the arrays sent to nodes, as counted beforehand")
    wire_up_bytes: int = column("bytes of the arrays that came back, as counted beforehand")
    sent_down_bytes: int = column("bytes of the messages sent; the rest is framing")
    sent_up_bytes: int = column("bytes of the messages that came back")


@dataclass(frozen=True)
class Shifted:
    """Which clients' data changed when a round began."""

    round: int = column("number of the round")
    clients: str = column("their numbers, as `0-9 12`")


@dataclass(frozen=True)
class TableSchema:
    """A table that grows with a run: what a row is, and whether equal runs have equal bytes."""

    row: type[Any]
    meaning: str
    reproducible: bool = True


TABLES: Mapping[str, TableSchema] = {
    ROUNDS: TableSchema(RoundFigures, "a line per round"),
    GROUPS: TableSchema(GroupFigures, "a line per round and group"),
    LEDGER: TableSchema(LedgerEntry, "a line per round and purpose that something was sent for"),
    MEMBERSHIP: TableSchema(Membership, "a line whenever a client's group changes"),
    TIMINGS: TableSchema(Timing, "a line per round", reproducible=False),
    MISSING: TableSchema(Missing, "a line per order that some clients did not answer"),
    MESSAGES: TableSchema(Messages, "on a network, a line per round and order", reproducible=False),
    SHIFTS: TableSchema(
        Shifted,
        "a line per round in which clients' data changed; on a network only the clients know",
    ),
}


@dataclass(frozen=True, eq=False)
class Round:
    """One finished round: its rows in all tables, the models in service, the algorithm's state.

    ``present`` counts the clients that have arrived.
    """

    rows: Rows
    present: int
    serving: Serving
    state: Any

    @property
    def figures(self) -> RoundFigures:
        """What the round showed."""
        found: RoundFigures = self.rows[ROUNDS][0]
        return found

    @property
    def groups(self) -> Sequence[GroupFigures]:
        """What the round showed of each group."""
        return self.rows[GROUPS]

    def __repr__(self) -> str:
        known = {"accuracy": self.figures.accuracy, "loss": self.figures.loss}
        words = [f"{name} {value:.4g}" for name, value in known.items() if value is not None]
        return f"Round({', '.join([str(self.figures.round), *words])})"


def rows_of(
    facts: RoundFacts,
    joined: Sequence[Membership],
    missing: Sequence[Missing],
    messages: Sequence[Messages],
) -> Rows:
    """Return the rows of a round in all tables; ``joined`` are those that the start placed."""
    purposes = [purpose for purpose in PURPOSES if purpose in facts.ledger.costs]
    return {
        ROUNDS: (_row(RoundFigures, facts),),
        GROUPS: tuple(_row(GroupFigures, facts, group) for group in range(len(facts.members))),
        LEDGER: tuple(_row(LedgerEntry, facts, purpose) for purpose in purposes),
        MEMBERSHIP: (*joined, *memberships(facts.number, facts.moved, facts.group_of)),
        TIMINGS: (_row(Timing, facts),),
        MISSING: missing,
        MESSAGES: messages,
        SHIFTS: _shifts(facts),
    }


def memberships(number: int, clients: Ids, group_of: Ids) -> Iterator[Membership]:
    """Yield a row for each of the clients whose group is another one than before."""
    for client, group in zip(clients.tolist(), group_of[clients].tolist(), strict=True):
        yield Membership(number, client, None if group == NO_GROUP else group)


def _shifts(facts: RoundFacts) -> tuple[Shifted, ...]:
    known = facts.shifted is not None and len(facts.shifted) > 0
    return (Shifted(facts.number, spans(facts.shifted)),) if known else ()  # type: ignore[arg-type]


def columns_by_table(rows: Rows) -> Mapping[str, Columns]:
    """Return the columns of all tables."""
    return {name: columns(name, rows[name]) for name in TABLES}


def columns(name: str, rows: Sequence[Any]) -> dict[str, NDArray[Any]]:
    """Return the rows of a table as one array per column."""
    return {item.name: _column(rows, item.name) for item in fields(TABLES[name].row)}


def _column(rows: Sequence[Any], name: str) -> NDArray[Any]:
    values = [getattr(row, name) for row in rows]
    if any(isinstance(value, str) for value in values):
        # As they are: in an array of fixed width each would take the room of the longest.
        return np.array(values, dtype=np.object_)
    whole = all(isinstance(value, int) for value in values)
    return np.array(values, dtype=np.int64 if whole else np.float64)  # None becomes NaN
