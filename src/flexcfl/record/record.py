"""The record of one run: its settings, tables and figures, just made or read from its folder."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flexcfl.experiment.experiment import Tables as Settings
from flexcfl.protocol import NO_GROUP, Clustering, Flags, Ids, numbers
from flexcfl.record.metrics import Accuracy, measured_by_all
from flexcfl.record.summary import RoundsSummary, Summary, summarize_rounds
from flexcfl.record.tables import (
    GROUPS,
    LEDGER,
    MEMBERSHIP,
    MESSAGES,
    MISSING,
    ROUNDS,
    SHIFTS,
    TIMINGS,
    Columns,
    columns,
)

__all__ = [
    *(
        "Changes",
        "Record",
        "runs_by_method",
        "changes_of",
        "founders_of",
        "group_matrix",
        "measured_rounds",
    ),
    *("empty_table", "shift_marks"),
]


def empty_table(*names: str) -> Columns:
    """Return a table without any row."""
    return {name: np.empty(0, dtype=np.int64) for name in names}


class _TableOf:
    """The table of a run with this file name, as an attribute of its record."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, record: "Record", _kind: object = None) -> Columns:
        """Return its columns, empty where there is no such table."""
        return record.tables.get(self.name) or columns(self.name, [])


@dataclass(frozen=True, eq=False, kw_only=True)
class Record:
    """The record of a run, which may still go on: its tables are what ``flexcfl.Run`` says.

    A table that it does not have has no rows. ``settings`` are the tables of ``experiment.toml``
    and ``text`` is all of that file. ``group_of`` is as far as is known, and ``summary`` is None
    while the run is not finished. ``label`` is what the run is called where several are compared,
    by default its algorithm.
    """

    settings: Settings
    text: str = ""
    tables: Mapping[str, Columns] = field(default_factory=dict)
    labels: Columns = field(default_factory=lambda: empty_table("client", "label", "train", "test"))
    founders: Columns = field(default_factory=lambda: empty_table("client", "group"))
    group_of: Ids = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    summary: Summary | None = None
    folder: Path | None = None
    names: Sequence[str] = ()
    label: str = ""

    rounds, groups, ledger = _TableOf(ROUNDS), _TableOf(GROUPS), _TableOf(LEDGER)
    membership, timings = _TableOf(MEMBERSHIP), _TableOf(TIMINGS)
    missing, messages, shifts = _TableOf(MISSING), _TableOf(MESSAGES), _TableOf(SHIFTS)

    def __repr__(self) -> str:
        rounds = f"rounds {self.done:,} of {self.total:,}"
        return f"Record({self.method}, seed {self.seed}, {rounds}, clients {self.clients:,})"

    @property
    def method(self) -> str:
        """What the run is called where several are compared, the same for all seeds."""
        return self.label or str(self.settings["algorithm"]["name"])

    @property
    def path(self) -> Path:
        """Its folder, which every run has that was read."""
        assert self.folder is not None
        return self.folder

    @property
    def seed(self) -> int:
        """The seed from which all its random numbers derive."""
        return int(self.settings["run"]["seed"])

    @property
    def total(self) -> int:
        """How many rounds it will have."""
        return int(self.settings["run"]["rounds"])

    @property
    def done(self) -> int:
        """How many rounds are done."""
        return len(self.rounds["round"])

    @property
    def clients(self) -> int:
        """How many clients there are, as far as is known."""
        return len(self.group_of)

    @property
    def so_far(self) -> RoundsSummary:
        """What the rounds so far tell, as the summary will have it."""
        return summarize_rounds(self.rounds, self.settings["run"]["cohort"])

    @property
    def group_count(self) -> int:
        """How many groups there have been so far."""
        return int(self.groups["group"].max(initial=-1)) + 1

    def scored(self, rounds: Flags | None = None) -> Accuracy:
        """Return its best and final accuracy so far, over all rounds or over these alone."""
        return Accuracy.of(self.rounds["accuracy"], rounds)

    def name_of(self, client: int) -> str:
        """Return what a client is called."""
        name = self.names[client] if client < len(self.names) else ""
        return f"{client} ({name})" if name not in ("", str(client)) else str(client)


def founders_of(clustering: Clustering | None) -> Columns:
    """Return the clients that were clustered, with their groups and points."""
    if clustering is None:
        return empty_table("client", "group")
    points = {f"x{axis}": column for axis, column in enumerate(clustering.embedding.T)}
    return {"client": clustering.clients, "group": clustering.group_of, **points}


def runs_by_method(records: Iterable[Record]) -> dict[str, list[Record]]:
    """Return the runs of each method, one for each seed, in the order of their appearance."""
    found: dict[str, list[Record]] = {}
    for record in records:
        found.setdefault(record.method, []).append(record)
    return found


def measured_rounds(records: Iterable[Record]) -> Flags:
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
    # A round that is being written may have told of members before it tells of itself.
    told = np.flatnonzero(table["round"] <= record.done)
    number, client, group = (table[name][told] for name in ("round", "client", "group"))
    order = np.lexsort((number, client))
    number, client = number[order], client[order]
    after = np.where(np.isnan(group), NO_GROUP, group).astype(np.int64)[order]
    same = np.append(False, client[1:] == client[:-1])[: len(client)]
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
    for number, clients in zip(record.shifts["round"], record.shifts["clients"], strict=True):
        if number <= record.done:
            marks[int(number)] = numbers(str(clients))
    return marks
