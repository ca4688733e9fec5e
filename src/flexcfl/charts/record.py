"""What charts know of a run: its tables as columns, whether it is finished or still goes on."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexcfl.protocol import NO_GROUP, Ids, numbers

__all__ = ["Columns", "Record", "by_method", "group_matrix", "shift_marks"]

Columns: TypeAlias = Mapping[str, NDArray[Any]]  # one array for each column, all of one length


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

    @property
    def done(self) -> int:
        """How many rounds are done."""
        return len(self.rounds["round"])

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


def group_matrix(record: Record) -> Ids:
    """Return every client's group after every round: clients by rounds, the start being first."""
    groups = np.full((record.clients, record.done + 1), NO_GROUP, dtype=np.int64)
    table = record.membership
    if not table:
        return groups
    wanted = np.where(np.isnan(table["group"]), NO_GROUP, table["group"]).astype(np.int64)
    # A round that is being written may have told of members before it tells of itself.
    for place in np.flatnonzero(table["round"] <= record.done):
        groups[table["client"][place], table["round"][place] :] = wanted[place]
    return groups


def shift_marks(record: Record) -> list[Ids]:
    """Return the clients whose data changed before each round; nothing changes at the start."""
    marks: list[Ids] = [np.empty(0, np.int64) for _ in range(record.done + 1)]
    if record.shifts:
        for number, clients in zip(record.shifts["round"], record.shifts["clients"], strict=True):
            if number <= record.done:
                marks[int(number)] = numbers(str(clients))
    return marks
