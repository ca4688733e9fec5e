"""Charts of every client's group over time, with its shifts and migrations."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexcfl.protocol import NO_GROUP, Ids
from flexcfl.record.record import Changes, Record, changes_of, group_matrix, shift_marks
from flexcfl.report.charts.figure import (
    Chart,
    axis,
    client_axis,
    count_axis,
    escaped,
    json_numbers,
    layout,
    rounds_axis,
)
from flexcfl.report.charts.palette import (
    COLOURS,
    MARK,
    MIDDLING,
    NEUTRAL,
    PALE,
    SHADE,
    group_colour,
    with_opacity,
)

MOST, MOST_GROUPS = 1000, 40  # the most clients, and groups between which they move, to draw
TALLEST, LEAST, ROW = 900, 320, 6  # pixels: largest and smallest picture, and one client
MARK_OPACITY = 0.6
LABELS = 20  # the most groups that are named in the colour scale and have numbers in their cells
WIDTHS = (6, 3.5, 1.5)  # different, because these lines often overlap


def moves(record: Record) -> Chart:
    """Return clients by rounds, coloured by group, with a mark when a client's data changed."""
    changes = changes_of(record)
    order = _clients_in_order(changes, record.clients)
    groups = group_matrix(record, order)
    names = [escaped(record.name_of(client)) for client in order.tolist()]
    rounds = list(range(groups.shape[1]))
    data = [_group_heatmap(groups, rounds, names)]
    marks = _marks(record, order)
    if marks.any():
        data.append(_shift_heatmap(marks, groups != NO_GROUP, rounds, names))
    shown = layout(
        xaxis=count_axis("round (0 is the start)", record.done, showgrid=False),
        yaxis=client_axis("client", autorange="reversed"),
        height=min(max(LEAST, ROW * len(order) + 90), TALLEST),
    )
    text = f"{_moved(changes, record.clients)} {_drawn(record, order)}"
    columns = ("what", "round", "client", "group")
    return Chart("moves", "Group of each client by round", text, data, shown, columns)


def changes(record: Record) -> Chart:
    """Return how many clients changed and moved in each round."""
    kinds = {
        "shifted": "data changed",
        "detected": "drift detected",
        "migrated": "moved to another group",
    }
    x = record.rounds["round"].tolist()
    known = [name for name in kinds if not np.isnan(record.rounds[name].astype(float)).all()]
    data = [
        {
            "type": "scatter",
            "mode": "lines" if len(x) > 1 else "markers",
            "line": {"shape": "hvh", "width": WIDTHS[index], "color": COLOURS[index]},
            "marker": {"color": COLOURS[index], "size": 3 * WIDTHS[index]},
            "x": x,
            "y": json_numbers(record.rounds[name]),
            "name": kinds[name],
        }
        for index, name in enumerate(known)
    ]
    sums = [f"{kinds[name]} {np.nansum(record.rounds[name]):,.0f} times" for name in known]
    text = f"Number of clients whose data or group changed. In total: {', '.join(sums)}."
    most = max((float(np.nanmax(record.rounds[name])) for name in known), default=0)
    shown = layout(
        xaxis=rounds_axis(record.total),
        yaxis=count_axis("clients", most, rangemode="tozero"),
        hovermode="x unified",
    )
    columns = ("what", "round", "clients")
    return Chart("changes", "Shifts and migrations by round", text, data, shown, columns)


def flows(record: Record) -> Chart:
    """Return how often clients moved from one group to another.

    With very many groups, only those with the most moves are drawn.
    """
    changes = changes_of(record)
    chosen = _busiest(changes, record.group_count)
    counts = _counts(changes, chosen)
    names = [str(group) for group in chosen.tolist()]
    gap = 2 if len(counts) <= LABELS else 0  # pixels, if cells are larger than that
    few = {"texttemplate": "%{text}", "textfont": {"color": MARK}} if len(counts) <= LABELS else {}
    data = [
        {
            "type": "heatmap",
            "x": names,
            "y": names,
            "z": counts.tolist(),
            "text": [[str(count) if count else "" for count in line] for line in counts.tolist()],
            **few,
            "zmin": 0,
            "zmax": max(int(counts.max()), 1),
            "colorscale": [[0, PALE], [1, MIDDLING]],
            "showscale": False,
            "xgap": gap,
            "ygap": gap,
            "hovertemplate": "from group %{y} to group %{x}: %{z}<extra></extra>",
        }
    ]
    shown = layout(
        xaxis=axis("to group", type="category", showgrid=False),
        yaxis=axis("from group", type="category", autorange="reversed", showgrid=False),
    )
    number = record.group_count
    some = f" {len(chosen)} of {number:,} groups are drawn." if number > MOST_GROUPS else ""
    text = f"Number of moves from one group to another. {_largest(counts, chosen)}{some}"
    columns = ("what", "to", "from", "moves")
    return Chart("flows", "Moves between groups", text, data, shown, columns)


def _clients_in_order(changes: Changes, clients: int) -> Ids:
    """Return clients, or a sample of them, by their last group and by when they joined it."""
    last, since = np.full(clients, NO_GROUP), np.zeros(clients, np.int64)
    last[changes.client], since[changes.client] = changes.after, changes.round
    order = np.lexsort((np.arange(clients), since, last))
    if clients <= MOST:
        return order
    return order[np.linspace(0, clients - 1, MOST).round().astype(np.int64)]


def _group_heatmap(groups: Ids, rounds: list[int], names: list[str]) -> dict[str, Any]:
    # One step of the scale for each group, with the group's number in the middle.
    number = max(int(groups.max(initial=0)) + 1, 1)
    edges = [(group / number, (group + 1) / number) for group in range(number)]
    scale = [[edge, group_colour(group)] for group, pair in enumerate(edges) for edge in pair]
    named = list(range(0, number, -(-number // LABELS)))
    return {
        "type": "heatmap",
        "name": "group",
        "x": rounds,
        "y": names,
        "z": [[None if group == NO_GROUP else group for group in line] for line in groups.tolist()],
        "zmin": -0.5,
        "zmax": number - 0.5,
        "colorscale": scale,
        "colorbar": {
            "tickvals": named,
            "ticktext": [f"group {group}" for group in named],
            "thickness": 12,
            "outlinewidth": 0,
        },
        "hovertemplate": "client %{y}, round %{x}: group %{z}<extra></extra>",
        "hoverongaps": False,
    }


def _shift_heatmap(
    marks: NDArray[np.bool_], placed: NDArray[np.bool_], rounds: list[int], names: list[str]
) -> dict[str, Any]:
    """Return marks that darken the colour of a group, and are visible where there is no group."""
    return {
        "type": "heatmap",
        "name": "data changed",
        "x": rounds,
        "y": names,
        "meta": "mark",
        "z": [
            [int(there) if mark else None for mark, there in zip(*lines, strict=True)]
            for lines in zip(marks.tolist(), placed.tolist(), strict=True)
        ],
        "zmin": 0,
        "zmax": 1,
        "colorscale": [
            [0, with_opacity(NEUTRAL, MARK_OPACITY)],
            [1, with_opacity(SHADE, MARK_OPACITY)],
        ],
        "showscale": False,
        "hovertemplate": "client %{y}, round %{x}: its data changed<extra></extra>",
        "hoverongaps": False,
    }


def _marks(record: Record, order: Ids) -> NDArray[np.bool_]:
    marks = np.zeros((len(order), record.done + 1), dtype=np.bool_)
    for number, clients in enumerate(shift_marks(record)):
        marks[:, number] = np.isin(order, clients)
    return marks


def _busiest(changes: Changes, groups: int) -> Ids:
    moved = changes.moved
    touched = np.concatenate([changes.before[moved], changes.after[moved]])
    number = max(groups, int(touched.max(initial=0)) + 1)
    often = np.bincount(touched, minlength=number)
    return np.sort(np.argsort(-often, kind="stable")[:MOST_GROUPS])


def _counts(changes: Changes, groups: Ids) -> Ids:
    """Return how often clients moved from one of these groups (rows) to another (columns)."""
    shown = changes.moved & np.isin(changes.before, groups) & np.isin(changes.after, groups)
    pairs = (np.searchsorted(groups, each[shown]) for each in (changes.before, changes.after))
    counts = np.zeros((len(groups), len(groups)), dtype=np.int64)
    np.add.at(counts, tuple(pairs), 1)
    return counts


def _moved(changes: Changes, clients: int) -> str:
    moved = changes.client[changes.moved]
    if not len(moved):
        return f"None of {clients:,} clients has moved to another group."
    movers = len(np.unique(moved))
    return (
        f"{movers:,} of {clients:,} clients moved to another group, {len(moved):,} times in total."
    )


def _drawn(record: Record, order: Ids) -> str:
    text = "Each line is a client, and its colour is the group"
    marked = (
        "; a mark means that the client's data changed before that round"
        if len(record.shifts["round"])
        else ""
    )
    some = (
        f" ({len(order):,} of {record.clients:,} are drawn)" if len(order) < record.clients else ""
    )
    return f"{text}{some}{marked}."


def _largest(counts: Ids, groups: Ids) -> str:
    if not counts.any():
        return "No client has moved."
    source, target = np.unravel_index(np.argmax(counts), counts.shape)
    between = f"from group {groups[source]} to group {groups[target]}"
    return f"The most frequent move is {between}, {counts.max():,} times."
