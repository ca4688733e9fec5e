"""The record of one run: its tables as columns, whether it is finished or still goes on."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from flexcfl.protocol import NO_GROUP, Flags, Ids, numbers
from flexcfl.record.metrics import Accuracy, measured_by_all
from flexcfl.record.tables import Columns

__all__ = [
    "Changes",
    "Record",
    "by_method",
    "changes_of",
    "group_matrix",
    "measured",
    "shift_marks",
]


@dataclass(frozen=True, eq=False)
class Record:
    """The figures of one run so far; a table that it does not have is empty.

    ``method`` is what the run is called where several are compared, the same for all seeds.
    ``total`` is how many rounds it will have. ``founders`` are the clients that were clustered,
    with their groups and points; ``names`` are what clients are called where they have names.
    """

    method: str
    seed: int
    total: int
    clients: int
    rounds: Columns
    groups: Columns = field(default_factory=dict)
    membership: Columns = field(default_factory=dict)
    shifts: Columns = field(default_factory=dict)
    labels: Columns = field(default_factory=dict)
    founders: Columns = field(default_factory=dict)
    names: Sequence[str] = ()

    def __repr__(self) -> str:
        rounds = f"rounds {self.done:,} of {self.total:,}"
        return f"Record({self.method}, seed {self.seed}, {rounds}, clients {self.clients:,})"

    @property
    def done(self) -> int:
        """How many rounds are done."""
        return len(self.rounds["round"])

    def scored(self, rounds: Flags | None = None) -> Accuracy:
        """Return its best and final accuracy so far, over all rounds or over these alone."""
        return Accuracy.of(self.rounds["accuracy"], rounds)

    @property
    def group_count(self) -> int:
        """How many groups there have been so far."""
        return int(self.groups["group"].max()) + 1 if self.groups else 0

    def name_of(self, client: int) -> str:
        """Return what a client is called."""
        name = self.names[client] if client < len(self.names) else ""
        return f"{client} ({name})" if name not in ("", str(client)) else str(client)


def by_method(records: Iterable[Record]) -> dict[str, list[Record]]:
    """Return the runs of each method, one for each seed, in the order of their appearance."""
    found: dict[str, list[Record]] = {}
    for record in records:
        found.setdefault(record.method, []).append(record)
    return found


def measured(records: Iterable[Record]) -> Flags:
    """Return for each round whether all runs are measured; one that never was does not count."""
    return measured_by_all(record.rounds["accuracy"] for record in records)


@dataclass(frozen=True, eq=False)
class Changes:
    """Whenever a client came into another group: the group before and the one after.

    They are by client and then by round; ``NO_GROUP`` is before the first one, and after the last
    one of who has none any more.
    """

    round: Ids
    client: Ids
    before: Ids
    after: Ids

    @property
    def moved(self) -> NDArray[np.bool_]:
        """Which of them lead from one group to another."""
        return np.asarray((self.before != NO_GROUP) & (self.after != NO_GROUP))


def changes_of(record: Record) -> Changes:
    """Return all changes of groups up to the last round that is done."""
    table = record.membership
    if not table:
        return Changes(*[np.empty(0, np.int64)] * 4)
    # A round that is being written may have told of members before it tells of itself.
    told = np.flatnonzero(table["round"] <= record.done)
    number, client, group = (table[name][told] for name in ("round", "client", "group"))
    order = np.lexsort((number, client))
    number, client = number[order], client[order]
    after = np.where(np.isnan(group), NO_GROUP, group).astype(np.int64)[order]
    same = np.append(False, client[1:] == client[:-1])
    before = np.where(same, np.roll(after, 1), NO_GROUP)
    real = before != after
    return Changes(number[real], client[real], before[real], after[real])


def group_matrix(record: Record, clients: Ids | None = None) -> Ids:
    """Return clients' groups after every round: clients by rounds, the start being first.

    It is of all clients, or of some of them where there are too many for all rounds of each.
    """
    chosen = np.arange(record.clients) if clients is None else clients
    groups = np.full((len(chosen), record.done + 1), NO_GROUP, dtype=np.int64)
    row_of = np.full(record.clients, -1)
    row_of[chosen] = np.arange(len(chosen))
    changes = changes_of(record)
    rows = row_of[changes.client]
    for place in np.flatnonzero(rows >= 0):
        groups[rows[place], changes.round[place] :] = changes.after[place]
    return groups


def shift_marks(record: Record) -> list[Ids]:
    """Return the clients whose data changed before each round; nothing changes at the start."""
    marks: list[Ids] = [np.empty(0, np.int64) for _ in range(record.done + 1)]
    if record.shifts:
        for number, clients in zip(record.shifts["round"], record.shifts["clients"], strict=True):
            if number <= record.done:
                marks[int(number)] = numbers(str(clients))
    return marks
