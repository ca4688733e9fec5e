"""Charts of one run's groups over rounds, and of the updates and labels of its clients."""

from collections.abc import Callable
from typing import Any

import numpy as np

from flexcfl.data.describe import sorted_by_labels
from flexcfl.protocol import Ids
from flexcfl.record.record import Record
from flexcfl.record.tables import Columns
from flexcfl.report.charts.figure import (
    Chart,
    axis,
    client_axis,
    count_axis,
    escaped,
    json_numbers,
    layout,
    percent,
    rounds_axis,
)
from flexcfl.report.charts.palette import SEQUENCE, group_colour, with_opacity

MOST_NAMED = 8  # with more groups, the text names only the lowest and the highest
MOST_CLIENTS = 400  # the most clients that are drawn
MOST_COUNTED = 2**24


def accuracies(record: Record) -> Chart:
    """Return the accuracy of every group over rounds, in percent."""
    measured = _measured(record)
    data = [
        {**_line(group, table), "y": json_numbers(100 * table["accuracy"])}
        for group, table in _by_group(measured)
    ]
    shown = layout(
        xaxis=rounds_axis(record.total),
        yaxis=axis("accuracy in %", **({} if data else {"range": [0, 100]})),
        hovermode="x unified",
    )
    ends = _in_words(measured, "accuracy", percent)
    text = f"Accuracy of each group's model on the test sets of its clients. {ends}"
    columns = ("group", "round", "accuracy_percent")
    return Chart("group-accuracy", "Accuracy of each group", text, data, shown, columns)


def sizes(record: Record) -> Chart:
    """Return how many clients every group has over rounds, as stacked areas."""
    data = [
        {
            **_line(group, table),
            "y": json_numbers(table["clients"]),
            "stackgroup": "clients",
            "fillcolor": with_opacity(group_colour(group), 0.6),
            "line": {"color": group_colour(group), "width": 0.5},
        }
        for group, table in _by_group(record.groups)
    ]
    shown = layout(
        xaxis=rounds_axis(record.total),
        yaxis=count_axis("clients", record.clients, rangemode="tozero"),
        hovermode="x unified",
    )
    ends = _in_words(record.groups, "clients", "{:.0f}".format)
    text = f"Number of clients in each group. {ends}"
    columns = ("group", "round", "clients")
    return Chart("group-size", "Size of each group", text, data, shown, columns)


def _measured(record: Record) -> Columns:
    """Return only the measured rounds, so that the lines have no gaps."""
    known = ~np.isnan(record.groups["accuracy"])
    return {name: column[known] for name, column in record.groups.items()}


def _by_group(table: Columns) -> list[tuple[int, Columns]]:
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
        "line": {"color": group_colour(group), "width": 2},
        "marker": {"color": group_colour(group)},
        "name": f"group {group}",
    }


def _in_words(table: Columns, column: str, spoken: Callable[[float], str]) -> str:
    """Describe the last figure of each group, or of many groups only the lowest and highest."""
    last = {group: own[column][-1] for group, own in _by_group(table)}
    if not last:
        return "Nothing has been measured yet."
    least, most = (end(last, key=last.__getitem__) for end in (min, max))
    named = list(last) if len(last) <= MOST_NAMED else [least, most]
    text = ", ".join(f"group {group}: {spoken(last[group])}" for group in named)
    some = "" if len(last) <= MOST_NAMED else f", lowest and highest of {len(last)} groups"
    return f"At the end{some}: {text}."


def founders(record: Record) -> Chart:
    """Return the points of the clients that were clustered, coloured by group."""
    table = record.founders
    axes = [name for name in table if name.startswith("x")][:2]
    groups = np.unique(table["group"]).tolist()
    data = [_points(record, axes, group) for group in groups]
    shown = layout(xaxis=axis("first direction"), yaxis=axis("second direction"))
    number = len(table["client"])
    text = (
        f"{number} clients were clustered by their updates into {len(groups)} groups; clients "
        "whose updates point in the same direction are close together."
    )
    columns = ("group", "first", "second", "client")
    return Chart("founders", "Founders by their updates", text, data, shown, columns)


def labels(record: Record) -> Chart:
    """Return the share of each class in each client's examples, at the start."""
    known, counts = _counts(record)
    order = sorted_by_labels(counts, MOST_CLIENTS)
    shares = counts[order] / np.maximum(counts[order].sum(axis=1, keepdims=True), 1)
    data = [
        {
            "type": "heatmap",
            "x": [escaped(record.name_of(client)) for client in known[order].tolist()],
            "y": [f"{label}" for label in range(counts.shape[1])],
            "z": [json_numbers(line, 3) for line in 100 * shares.T],
            "zmin": 0,
            "zmax": 100,
            "colorscale": [[index, colour] for index, colour in enumerate(SEQUENCE)],
            "colorbar": {"thickness": 12, "ticksuffix": " %", "outlinewidth": 0},
            "hovertemplate": "client %{x}: %{z:.0f} % of class %{y}<extra></extra>",
        }
    ]
    shown = layout(
        xaxis=client_axis("client, similar ones next to each other"),
        yaxis=axis("class", type="category", showgrid=False),
    )
    some = f" {len(order)} of them are drawn." if len(order) < record.clients else ""
    held = np.bincount(record.labels["client"], minlength=record.clients)
    text = (
        f"Share of each class in a client's data at the start: {record.clients:,} clients, each "
        f"with {_range(held)} of {counts.shape[1]} classes.{some}"
    )
    columns = ("what", "client", "class", "percent")
    return Chart("labels", "Label skew of the federation", text, data, shown, columns)


def _points(record: Record, axes: list[str], group: int) -> dict[str, Any]:
    table = record.founders
    mine = table["group"] == group
    clients = table["client"][mine].tolist()
    flat = np.zeros(len(clients))  # for a missing second direction
    x, y, *_ = [*(table[name][mine] for name in axes), flat, flat]
    return {
        "type": "scatter",
        "mode": "markers",
        "x": json_numbers(x),
        "y": json_numbers(y),
        "text": [f"client {escaped(record.name_of(client))}" for client in clients],
        "customdata": [[record.name_of(client)] for client in clients],
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {"color": group_colour(group), "size": 9, "opacity": 0.8},
        "name": f"group {group}",
    }


def _range(numbers: Ids) -> str:
    least, most = int(numbers.min()), int(numbers.max())
    return str(least) if least == most else f"{least} to {most}"


def _counts(record: Record) -> tuple[Ids, Ids]:
    """Return clients, and how many examples each has of each class.

    With too many clients and classes to count, the clients are a sample.
    """
    table = record.labels
    classes = int(table["label"].max()) + 1
    clients = np.arange(0, record.clients, 1 + record.clients * classes // MOST_COUNTED)
    mine = np.isin(table["client"], clients)
    counts = np.zeros((len(clients), classes), dtype=np.int64)
    rows = np.searchsorted(clients, table["client"][mine])
    np.add.at(counts, (rows, table["label"][mine]), (table["train"] + table["test"])[mine])
    return clients, counts
