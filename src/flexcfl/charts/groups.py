"""The groups of one run: their accuracy and their size over rounds."""

from collections.abc import Callable
from typing import Any

import numpy as np

from flexcfl.charts.chart import Chart, axis, counted, layout, listed, percent
from flexcfl.charts.palette import faded, of_group
from flexcfl.charts.record import Columns, Record

__all__ = ["accuracies", "sizes"]

TOLD = 8  # of more groups only the extremes are told


def accuracies(record: Record) -> Chart:
    """Return the accuracy of every group over rounds, in percent."""
    data = [
        {**_line(group, table), "y": listed(100 * table["accuracy"])}
        for group, table in _by_group(_measured(record.groups))
    ]
    shown = layout(
        xaxis=counted("round", record.total, range=[0, record.total + 1]),
        yaxis=axis("accuracy in %", **({} if data else {"range": [0, 100]})),
        hovermode="x unified",
    )
    ends = _told(record, "accuracy", percent)
    text = f"Each group's model on the test sets of its own clients. {ends}"
    columns = ("group", "round", "accuracy_percent")
    return Chart("group-accuracy", "Accuracy of each group", text, data, shown, columns)


def sizes(record: Record) -> Chart:
    """Return how many clients every group has over rounds, on top of each other."""
    data = [
        {
            **_line(group, table),
            "y": listed(table["clients"]),
            "stackgroup": "clients",
            "fillcolor": faded(of_group(group), 0.6),
            "line": {"color": of_group(group), "width": 0.5},
        }
        for group, table in _by_group(record.groups)
    ]
    shown = layout(
        xaxis=counted("round", record.total, range=[0, record.total + 1]),
        yaxis=counted("clients", record.clients, rangemode="tozero"),
        hovermode="x unified",
    )
    text = f"How many clients each group has. {_told(record, 'clients', '{:.0f}'.format)}"
    return Chart(
        "group-size", "Size of each group", text, data, shown, ("group", "round", "clients")
    )


def _measured(table: Columns) -> Columns:
    """Return the lines of rounds in which some group was measured."""
    if not table:
        return table
    known = np.isin(table["round"], table["round"][~np.isnan(table["accuracy"])])
    return {name: column[known] for name, column in table.items()}


def _by_group(table: Columns) -> list[tuple[int, Columns]]:
    if not table:
        return []
    groups = np.unique(table["group"]).tolist()
    return [
        (group, {name: column[table["group"] == group] for name, column in table.items()})
        for group in groups
    ]


def _line(group: int, table: Columns) -> dict[str, Any]:
    return {
        "type": "scatter",
        "x": table["round"].tolist(),
        "mode": "lines" if len(table["round"]) > 1 else "markers",
        "line": {"color": of_group(group), "width": 2},
        "marker": {"color": of_group(group)},
        "name": f"group {group}",
    }


def _told(record: Record, column: str, spoken: Callable[[float], str]) -> str:
    """Return the last figure of each group in words."""
    last = [(group, table[column][-1]) for group, table in _by_group(record.groups)]
    known = {group: value for group, value in last if not np.isnan(value)}
    if not known:
        return "Nothing has been measured yet."
    least, most = (end(known, key=known.__getitem__) for end in (min, max))
    named = list(known) if len(known) <= TOLD else [least, most]
    told = ", ".join(f"group {group}: {spoken(known[group])}" for group in named)
    some = "" if len(known) <= TOLD else f", the extremes of {len(known)} groups"
    return f"In the end{some}: {told}."
