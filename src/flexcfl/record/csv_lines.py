"""Tables as CSV: one line per row, whole numbers and floats such that they can be read back."""

import csv
import io
from collections.abc import Iterable, Sequence

from flexcfl.data.describe import LabelSkew
from flexcfl.protocol import NO_GROUP, Clustering, Ids
from flexcfl.protocol.cohorts import NEVER

__all__ = ["clients", "founders", "labels", "written"]


def written(rows: Iterable[Sequence[object]]) -> str:
    """Return rows as CSV: floats as their repr, None as nothing."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def clients(group_of: Ids, arrival: Ids, structure: Ids | None, names: Sequence[str] = ()) -> str:
    """Return a line for every client: its group, when it came, its true cluster and its name."""
    groups = [None if group == NO_GROUP else group for group in group_of.tolist()]
    true = [None] * len(groups) if structure is None else structure.tolist()
    came = [None if number == NEVER else number for number in arrival.tolist()]
    called: Sequence[str | None] = names or [None] * len(groups)
    rows = zip(range(len(groups)), groups, came, true, called, strict=True)
    return written([("client", "group", "arrival", "structure", "name"), *rows])


def labels(skew: LabelSkew) -> str:
    """Return a line for every client and label that it has examples of."""
    columns = skew.columns
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return written([tuple(columns), *rows])


def founders(clustering: Clustering) -> str:
    """Return a line for every client that was clustered: its group and its point."""
    points = clustering.embedding
    header = ["client", "group", *(f"x{axis}" for axis in range(points.shape[1]))]
    pairs = zip(clustering.clients.tolist(), clustering.group_of.tolist(), strict=True)
    rows = ([*pair, *point] for pair, point in zip(pairs, points.tolist(), strict=True))
    return written([header, *rows])
