"""The record of one run: its settings, tables and figures, in memory or read from its folder."""

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


def empty_table(*names: str) -> Columns:
    """Return a table with these columns and no rows."""
    return {name: np.empty(0, dtype=np.int64) for name in names}


class _TableOf:
    """A table as an attribute of its record, by file name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, record: "Record", _kind: object = None) -> Columns:
        """Return its columns; they are empty if the run has no such table."""
        return record.tables.get(self.name) or columns(self.name, [])


@dataclass(frozen=True, eq=False, kw_only=True)
class Record:
    """The record of a run, finished or not; ``flexcfl.Run`` describes its tables.

    A table that the run does not have has no rows. ``settings`` are the tables of
    ``experiment.toml``, and ``text`` is the content of that file. ``group_of`` holds every client's
    group so far. ``summary`` is None until the run is finished. ``label`` is the name of the run in
    comparisons, by default its algorithm.
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
        """The name of the run in comparisons, the same for all seeds."""
        return self.label or str(self.settings["algorithm"]["name"])

    @property
    def path(self) -> Path:
        """The folder from which the run was read."""
        assert self.folder is not None
        return self.folder

    @property
    def seed(self) -> int:
        """The random seed of the run."""
        return int(self.settings["run"]["seed"])

    @property
    def total(self) -> int:
        """The number of rounds that the run will have."""
        return int(self.settings["run"]["rounds"])

    @property
    def done(self) -> int:
        """The number of finished rounds."""
        return len(self.rounds["round"])

    @property
    def clients(self) -> int:
        """The number of clients that are known so far."""
        return len(self.group_of)

    @property
    def so_far(self) -> RoundsSummary:
        """A summary of the rounds so far."""
        return summarize_rounds(self.rounds, self.settings["run"]["cohort"])

    @property
    def group_count(self) -> int:
        """The number of groups so far."""
        return int(self.groups["group"].max(initial=-1)) + 1

    def scored(self, rounds: Flags | None = None) -> Accuracy:
        """Return the best, final and median accuracy so far, over all rounds or only these."""
        return Accuracy.of(self.rounds["accuracy"], rounds)

    def name_of(self, client: int) -> str:
        """Return the number of a client, with its name if it has one."""
        name = self.names[client] if client < len(self.names) else ""
        return f"{client} ({name})" if name not in ("", str(client)) else str(client)


def founders_of(clustering: Clustering | None) -> Columns:
    """Return the clustered clients with their groups and coordinates."""
    if clustering is None:
        return empty_table("client", "group")
    points = {f"x{axis}": column for axis, column in enumerate(clustering.embedding.T)}
    return {"client": clustering.clients, "group": clustering.group_of, **points}


def runs_by_method(records: Iterable[Record]) -> dict[str, list[Record]]:
    """Return the runs of each method, one per seed, in order of first appearance."""
    found: dict[str, list[Record]] = {}
    for record in records:
        found.setdefault(record.method, []).append(record)
    return found


def measured_rounds(records: Iterable[Record]) -> Flags:
    """Return for each round whether all runs are measured; runs that never were are left out."""
    return measured_by_all(record.rounds["accuracy"] for record in records)


@dataclass(frozen=True, eq=False)
class Changes:
    """All changes of clients' groups: the group before and the group after each change.

    They are sorted by client, then by round. ``NO_GROUP`` stands for no group, as before a client's
    first one.
    """

    round: Ids
    client: Ids
    before: Ids
    after: Ids

    @property
    def moved(self) -> NDArray[np.bool_]:
        """Which changes lead from one group to another."""
        return np.asarray((self.before != NO_GROUP) & (self.after != NO_GROUP))


def changes_of(record: Record) -> Changes:
    """Return all changes of groups up to the last finished round."""
    table = record.membership
    # A round that is being written may have memberships before it has a line of its own.
    finished = np.flatnonzero(table["round"] <= record.done)
    number, client, group = (table[name][finished] for name in ("round", "client", "group"))
    order = np.lexsort((number, client))
    number, client = number[order], client[order]
    after = np.where(np.isnan(group), NO_GROUP, group).astype(np.int64)[order]
    same = np.append(False, client[1:] == client[:-1])[: len(client)]
    before = np.where(same, np.roll(after, 1), NO_GROUP)
    real = before != after
    return Changes(number[real], client[real], before[real], after[real])


def group_matrix(record: Record, clients: Ids | None = None) -> Ids:
    """Return clients' groups after every round, with a row per client and the start in column 0.

    ``clients`` selects some clients if there are too many for a row each.
    """
    chosen = np.arange(record.clients) if clients is None else clients
    groups = np.full((len(chosen), record.done + 1), NO_GROUP, dtype=np.int64)
    row_of = np.full(record.clients, -1)
    row_of[chosen] = np.arange(len(chosen))
    changes = changes_of(record)
    rows = row_of[changes.client]
    for index in np.flatnonzero(rows >= 0):
        groups[rows[index], changes.round[index] :] = changes.after[index]
    return groups


def shift_marks(record: Record) -> list[Ids]:
    """Return the clients whose data changed before each round; entry 0, the start, is empty."""
    marks: list[Ids] = [np.empty(0, np.int64) for _ in range(record.done + 1)]
    for number, clients in zip(record.shifts["round"], record.shifts["clients"], strict=True):
        if number <= record.done:
            marks[int(number)] = numbers(str(clients))
    return marks
