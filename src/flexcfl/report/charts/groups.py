"""The groups of one run: their accuracy and their size over rounds."""

from collections.abc import Callable
from typing import Any

import numpy as np

from flexcfl.record.record import Record
from flexcfl.record.tables import Columns
from flexcfl.report.charts.chart import Chart, axis, counted, layout, listed, percent
from flexcfl.report.charts.palette import faded, of_group

__all__ = ["accuracies", "sizes"]

TOLD = 8  # of more groups only the extremes are told


def accuracies(record: Record) -> Chart:
    """Return the accuracy of every group over rounds, in percent."""
    measured = _measured(record)
    data = [
        {**_line(group, table), "y": listed(100 * table["accuracy"])}
        for group, table in _by_group(measured)
    ]
    shown = layout(
        xaxis=counted("round", record.total, range=[0, record.total + 1]),
        yaxis=axis("accuracy in %", **({} if data else {"range": [0, 100]})),
        hovermode="x unified",
    )
    ends = _told(measured, "accuracy", percent)
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
    text = f"How many clients each group has. {_told(record.groups, 'clients', '{:.0f}'.format)}"
    return Chart(
        "group-size", "Size of each group", text, data, shown, ("group", "round", "clients")
    )


def _measured(record: Record) -> Columns:
    """Return what was measured: not every round need be, and a line has no gaps for others."""
    known = ~np.isnan(record.groups["accuracy"]) if record.groups else np.empty(0, np.bool_)
    return {name: column[known] for name, column in record.groups.items()}


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


def _told(table: Columns, column: str, spoken: Callable[[float], str]) -> str:
    """Return the last figure of each group in words, of many groups only the extremes."""
    last = {group: own[column][-1] for group, own in _by_group(table)}
    if not last:
        return "Nothing has been measured yet."
    least, most = (end(last, key=last.__getitem__) for end in (min, max))
    named = list(last) if len(last) <= TOLD else [least, most]
    told = ", ".join(f"group {group}: {spoken(last[group])}" for group in named)
    some = "" if len(last) <= TOLD else f", the extremes of {len(last)} groups"
    return f"In the end{some}: {told}."
