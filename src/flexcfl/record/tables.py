"""The tables that grow with a run, each declared once, column by column.

A column has a meaning and, in tables with a line per round, group or purpose, a function that
computes its value from ``RoundFacts``. The files, their readers and docs/folder.md use these
declarations.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexcfl.protocol import NO_GROUP, Ids, Serving, spans
from flexcfl.record.metrics import PURPOSES, Cost, Ledger, Trainees

Columns: TypeAlias = Mapping[str, NDArray[Any]]
Rows: TypeAlias = Mapping[str, Sequence[Any]]
"""The rows of each table, by the name of its file."""

ROUNDS, GROUPS, LEDGER = "rounds.csv", "groups.csv", "ledger.csv"
MEMBERSHIP, TIMINGS, MISSING = "membership.csv", "timings.csv", "missing.csv"
MESSAGES, SHIFTS = "messages.csv", "shifts.csv"


@dataclass(frozen=True)
class Evaluation:
    """Accuracies on test data; None if there is no test data or no client to test a model.

    ``accuracy`` is None until every client present has a group or, if some do not answer, had the
    chance to find one. If only a sample is tested, it is over the clients of the sample with a
    group. ``honest`` is the same over clients that do not attack, if some do. ``groups`` has one
    entry per group, or none if nothing was evaluated. ``tested`` counts the clients that tested the
    model of their group.
    """

    accuracy: float | None
    honest: float | None
    newcomers: float | None
    auxiliary: float | None
    groups: Sequence[float | None]
    tested: int


@dataclass(frozen=True, eq=False)
class RoundFacts:
    """All facts of a finished round.

    ``members`` counts the clients present by group. ``asked`` clients were asked to train, and the
    updates of ``answered`` were accepted. ``rejected`` counts rejected answers by reason.
    ``shifted`` are the clients whose data changed, None if only they know. ``moved`` are the
    clients whose group changed, and ``group_of`` is every client's group after the round.
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
        """The total traffic of the round."""
        return self.ledger.total


def column(meaning: str, value: Callable[..., Any] | None = None) -> Any:
    """Declare a column; ``value`` computes the cell of a row."""
    return field(metadata={"meaning": meaning, "value": value})


def _row(kind: type[Any], *known: Any) -> Any:
    return kind(*(each.metadata["value"](*known) for each in fields(kind)))


def _rejected(reason: str) -> Callable[[RoundFacts], int]:
    return lambda facts: facts.rejected.get(reason, 0)


@dataclass(frozen=True)
class RoundFigures:
    """The figures of a round, a row of ``rounds.csv``; None means that there is no value."""

    round: int = column("number of the round", lambda facts: facts.number)
    accuracy: float | None = column(
        "accuracy over all clients that have arrived, each with its group's model; empty until all "
        "have a group (if some do not answer, until all were chosen once)",
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
        "accuracy over all clients of the one model for everybody, if the algorithm has one",
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
        "clients whose data changed; empty if only they know",
        lambda facts: None if facts.shifted is None else len(facts.shifted),
    )
    detected: int = column("clients that detected drift", lambda facts: facts.detected)
    placed_again: int = column(
        "clients that were placed again before training because of drift",
        lambda facts: facts.placed_again,
    )
    migrated: int = column(
        "clients that moved from one group to another", lambda facts: facts.migrated
    )
    rejected_late: int = column("answers rejected because they came late", _rejected("late"))
    rejected_stale: int = column(
        "answers rejected because they were for another round", _rejected("stale")
    )
    rejected_invalid: int = column(
        "answers rejected because nobody asked for them, or they name something that does not "
        "exist",
        _rejected("invalid"),
    )
    rejected_shape: int = column(
        "answers rejected because they had the wrong shape", _rejected("shape")
    )
    rejected_not_finite: int = column(
        "answers rejected because they were not finite", _rejected("not_finite")
    )
    rejected_norm: int = column(
        "answers rejected because their norm was too large", _rejected("norm")
    )
    rejected_founding: int = column(
        "answers of founders rejected because they contradict most others, or copy another's",
        _rejected("founding"),
    )
    clipped: int = column("updates that were clipped", lambda facts: facts.clipped)
    transfers: int = column(
        "model transfers as the paper counts them; the first round includes those of the start",
        lambda facts: facts.cost.transfers,
    )
    down_bytes: int = column("bytes sent to clients", lambda facts: facts.cost.down_bytes)
    up_bytes: int = column("bytes accepted from clients", lambda facts: facts.cost.up_bytes)


@dataclass(frozen=True)
class GroupFigures:
    """The figures of one group in a round, a row of ``groups.csv``."""

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
    """The costs of a round for one purpose; the first round includes those of the start."""

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
    """The duration of a round in seconds; the first round includes the start."""

    round: int = column("number of the round", lambda facts: facts.number)
    training: float = column(
        "seconds of the algorithm's round", lambda facts: facts.training_seconds
    )
    evaluation: float = column("seconds of evaluation", lambda facts: facts.evaluation_seconds)


@dataclass(frozen=True)
class Missing:
    """The clients that did not answer an order in time."""

    round: int = column("number of the round")
    order: str = column("the order")
    clients: str = column("their numbers, as `0-9 12`")


@dataclass(frozen=True)
class Messages:
    """The messages of an order on a network."""

    round: int = column("number of the round")
    order: str = column("the order")
    messages: int = column("number of messages")
    wire_down_bytes: int = column("bytes of the arrays sent to nodes, as counted beforehand")
    wire_up_bytes: int = column("bytes of the arrays that came back, as counted beforehand")
    sent_down_bytes: int = column("bytes of the messages sent; the rest is framing")
    sent_up_bytes: int = column("bytes of the messages that came back")


@dataclass(frozen=True)
class Shifted:
    """The clients whose data changed at the beginning of a round."""

    round: int = column("number of the round")
    clients: str = column("their numbers, as `0-9 12`")


@dataclass(frozen=True)
class TableSchema:
    """A table that grows with a run; if ``reproducible``, equal runs write equal bytes."""

    row: type[Any]
    meaning: str
    reproducible: bool = True


TABLES: Mapping[str, TableSchema] = {
    ROUNDS: TableSchema(RoundFigures, "a line per round"),
    GROUPS: TableSchema(GroupFigures, "a line per round and group"),
    LEDGER: TableSchema(LedgerEntry, "a line per round and purpose that caused traffic"),
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
    """A finished round: its rows in all tables, the current models, the algorithm's state.

    ``present`` counts the clients that have arrived.
    """

    rows: Rows
    present: int
    serving: Serving
    state: Any

    @property
    def figures(self) -> RoundFigures:
        """The figures of the round, such as ``figures.accuracy``."""
        figures: RoundFigures = self.rows[ROUNDS][0]
        return figures

    @property
    def groups(self) -> Sequence[GroupFigures]:
        """The figures of each group."""
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
    """Return the rows of a round in all tables; ``joined`` are the memberships of the start."""
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
    """Yield a row for each of these clients, whose groups have changed."""
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
        # As objects: in an array of fixed width each would take the space of the longest.
        return np.array(values, dtype=np.object_)
    whole = all(isinstance(value, int) for value in values)
    return np.array(values, dtype=np.int64 if whole else np.float64)  # None becomes NaN
