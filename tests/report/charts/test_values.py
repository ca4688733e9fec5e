"""Charts show what the tables of a run say: recomputed from the files, line by line."""

import csv
import tracemalloc
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexcfl.protocol import spans
from flexcfl.record.reading import read
from flexcfl.record.record import Record, group_matrix, shift_marks
from flexcfl.report.charts import Chart, chart
from flexcfl.report.charts.moves import MOST
from tests.report.charts.constructed import NONE, members, record, table
from tests.report.runs import CLIENTS, ROUNDS


@pytest.fixture(scope="session")
def run(folder: Path) -> Record:
    return read(folder)


def rows(folder: Path, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader((folder / f"{name}.csv").read_text().splitlines()))


def number(cell: str) -> float | None:
    return float(cell) if cell else None


def lines(drawn: Chart) -> dict[str, dict[Any, Any]]:
    """Return what a chart of lines shows: for each name, what is above which x."""
    return {line["name"]: dict(zip(line["x"], line["y"], strict=True)) for line in drawn.data}


def close(values: dict[int, float | None], scale: float = 1) -> Any:
    known = {key: scale * value for key, value in values.items() if value is not None}
    return pytest.approx(known, rel=1e-5)


@pytest.mark.parametrize(("name", "scale"), [("accuracy", 100), ("loss", 1), ("discrepancy", 1)])
def test_curves_are_the_columns_of_rounds(
    name: str, scale: float, folder: Path, run: Record
) -> None:
    expected = {int(row["round"]): number(row[name]) for row in rows(folder, "rounds")}
    assert lines(chart(name, [run])) == {"flexcfl": close(expected, scale)}


def test_traffic_is_the_bytes_so_far(folder: Path, run: Record) -> None:
    sent, expected = 0, {}
    for row in rows(folder, "rounds"):
        sent += int(row["down_bytes"]) + int(row["up_bytes"])
        if row["accuracy"]:
            expected[sent / 1e6] = 100 * float(row["accuracy"])
    line = chart("traffic", [run]).data[0]
    assert line["x"] == pytest.approx(list(expected), rel=1e-5)
    assert line["y"] == pytest.approx(list(expected.values()), rel=1e-5)


@pytest.mark.parametrize(
    ("name", "column", "scale"), [("group-accuracy", "accuracy", 100), ("group-size", "clients", 1)]
)
def test_groups_are_those_of_their_table(
    name: str, column: str, scale: float, folder: Path, run: Record
) -> None:
    expected: dict[str, dict[int, float | None]] = defaultdict(dict)
    for row in rows(folder, "groups"):
        expected[f"group {row['group']}"][int(row["round"])] = number(row[column])
    assert len(expected) > 1
    assert lines(chart(name, [run])) == {key: close(own, scale) for key, own in expected.items()}


def test_changes_are_the_columns_of_rounds(folder: Path, run: Record) -> None:
    found = lines(chart("changes", [run]))
    names = {"data changed": "shifted", "moved to another group": "migrated"}
    for shown, column in names.items():
        expected = {int(row["round"]): float(row[column]) for row in rows(folder, "rounds")}
        assert found[shown] == expected
        assert f"{shown} {sum(expected.values()):.0f} times" in chart("changes", [run]).text
        assert sum(expected.values()) > 0


def test_moves_end_where_clients_are_in_the_end(folder: Path, run: Record) -> None:
    groups, marks = chart("moves", [run]).data
    last = {name: line[-1] for name, line in zip(groups["y"], groups["z"], strict=True)}
    assert last == {row["client"]: number(row["group"]) for row in rows(folder, "clients")}
    marked = [
        [name for name, line in zip(marks["y"], marks["z"], strict=True) if line[each]]
        for each in range(ROUNDS + 1)
    ]
    changed = [0, *(int(row["shifted"]) for row in rows(folder, "rounds"))]
    assert [len(clients) for clients in marked] == changed


def test_flows_are_the_migrations(folder: Path, run: Record) -> None:
    counts = chart("flows", [run]).data[0]["z"]
    assert sum(map(sum, counts)) == sum(int(row["migrated"]) for row in rows(folder, "rounds"))
    assert all(counts[place][place] == 0 for place in range(len(counts)))


def test_labels_are_shares_of_each_clients_examples(folder: Path, run: Record) -> None:
    shown = chart("labels", [run]).data[0]
    assert sorted(shown["x"], key=int) == [str(client) for client in range(CLIENTS)]
    counts: dict[tuple[str, str], int] = defaultdict(int)
    for row in rows(folder, "labels"):
        counts[row["label"], row["client"]] = int(row["train"]) + int(row["test"])
    for label, line in zip(shown["y"], shown["z"], strict=True):
        for client, percent in zip(shown["x"], line, strict=True):
            total = sum(value for (_, other), value in counts.items() if other == client)
            assert percent == pytest.approx(100 * counts[label, client] / total, rel=1e-2)


def test_founders_are_the_first_two_of_their_directions(folder: Path, run: Record) -> None:
    points = {
        (line["name"], *point)
        for line in chart("founders", [run]).data
        for point in zip(line["text"], line["x"], line["y"], strict=True)
    }
    expected = [
        (f"group {row['group']}", f"client {row['client']}", float(row["x0"]), float(row["x1"]))
        for row in rows(folder, "founders")
    ]
    assert len(points) == len(expected)
    for one, other in zip(sorted(points), sorted(expected), strict=True):
        assert one[:2] == other[:2]
        assert one[2:] == pytest.approx(other[2:], rel=1e-5)


def test_several_seeds_are_a_mean_with_the_lowest_and_the_highest() -> None:
    curves = [[0.1, 0.6, NONE], [0.3, NONE, NONE], [0.2, 0.4]]
    runs = [record(curve, seed=seed) for seed, curve in enumerate(curves)]
    band, line = chart("accuracy", runs).data
    assert (line["x"], line["y"]) == ([1, 2], pytest.approx([20, 50]))
    assert line["customdata"] == [pytest.approx([10, 30]), pytest.approx([40, 60])]
    assert band["x"] == [1, 2, 2, 1]
    assert band["y"] == pytest.approx([30, 60, 40, 10])
    final = "Final accuracy, the mean of the last ten rounds: flexcfl 20.0 %."  # of round 1
    assert chart("accuracy", runs).text.startswith(f"{final} Lines are means over the seeds")


def test_runs_of_different_progress_stand_beside_each_other() -> None:
    runs = [record([0.1] * 5, "fedavg"), record([0.2], "flexcfl"), record([], "ifca")]
    drawn = chart("accuracy", runs)
    assert [line["x"] for line in drawn.data] == [[1, 2, 3, 4, 5], [1], []]
    assert [line["mode"] for line in drawn.data] == ["lines", "markers", "markers"]
    assert drawn.layout["xaxis"]["range"] == [0, 11]
    final = "Final accuracy, the mean of the last ten rounds:"
    assert drawn.text == f"{final} fedavg 10.0 %, flexcfl 20.0 %."
    assert len({line["line"]["color"] for line in drawn.data}) == 3


def test_words_on_accuracy_are_over_the_rounds_in_which_every_method_is_measured() -> None:
    early = record([0.9, 0.9, 0.5], "fedavg")
    late = record([NONE, NONE, 0.6, 0.8], "flexcfl")
    told = chart("accuracy", [early, late, record([NONE], "ifca")]).text
    assert told == (
        "Final accuracy, the mean of the last ten rounds: fedavg 50.0 %, flexcfl 60.0 %."
    )
    apart = chart("accuracy", [record([0.9], "fedavg"), late]).text
    assert apart == "No round has been measured for every method yet."
    assert chart("accuracy", [record([NONE])]).text == "No round has been measured yet."


def test_groups_that_are_measured_now_and_then_have_a_line_without_gaps() -> None:
    each = table(
        round=[1, 2, 3, 4], group=[0] * 4, accuracy=[NONE, 0.4, NONE, 0.5], clients=[4] * 4
    )
    drawn = chart("group-accuracy", [record(groups={**each, "accuracy": each["accuracy"]})])
    assert lines(drawn) == {"group 0": {2: 40, 4: 50}}
    early = {name: column[:3] for name, column in each.items()}
    assert "group 0: 40.0 %" in chart("group-accuracy", [record(groups=early)]).text


def test_names_are_shown_as_they_are_and_not_as_markup() -> None:
    named = record(
        method="<b>x</b>", clients=2, names=["<i>a</i>", "1"], membership=members((0, 0, 0))
    )
    line = chart("accuracy", [named]).data[0]
    assert (line["name"], line["meta"]) == ("&lt;b&gt;x&lt;/b&gt;", "<b>x</b>")
    assert set(chart("moves", [named]).data[0]["y"]) == {"0 (&lt;i&gt;a&lt;/i&gt;)", "1"}


def test_of_very_many_clients_a_sample_of_all_groups_is_drawn() -> None:
    many = 4 * MOST
    rows = [(0, client, client % 3) for client in range(many)]
    labels = table(
        client=range(many), label=[c % 5 for c in range(many)], train=[1] * many, test=[0] * many
    )
    big = record(clients=many, membership=members(*rows), labels=labels)
    drawn = chart("moves", [big])
    assert len(drawn.data[0]["z"]) == len(set(drawn.data[0]["y"])) == MOST
    last = [line[-1] for line in drawn.data[0]["z"]]
    assert last == sorted(last)
    assert all(abs(last.count(group) - MOST / 3) < 3 for group in range(3))
    assert "(1,000 of 4,000 are drawn)" in drawn.text
    skew = chart("labels", [big])
    assert len(skew.data[0]["x"]) == 400
    assert "4,000 clients, each with 1 of 5 classes. 400 of them are drawn." in skew.text


MEMBERS = st.dictionaries(  # at most one group of a client in a round
    st.tuples(st.integers(0, 5), st.integers(0, 6)), st.none() | st.integers(0, 3), min_size=1
)


@given(MEMBERS)
def test_groups_over_time_agree_with_going_through_the_rounds(
    found: dict[tuple[int, int], int | None],
) -> None:
    rows = [(r, c, NONE if group is None else group) for (r, c), group in found.items()]
    run = record([0.1] * 4, clients=7, membership=members(*rows))  # type: ignore[arg-type]
    expected = [[-1] * 5 for _ in range(7)]
    flows: dict[tuple[int, int], int] = defaultdict(int)
    for client, line in enumerate(expected):
        group = -1
        for each in range(5):
            before, new = group, found.get((each, client), group)
            group = -1 if new is None else new
            line[each] = group
            if -1 not in (before, group) and before != group:
                flows[before, group] += 1
    assert group_matrix(run).tolist() == expected
    some = group_matrix(run, group_matrix(run)[:0, 0])
    assert some.shape == (0, 5)
    counts = chart("flows", [run]).data[0]["z"]
    told = {(a, b): n for a, line in enumerate(counts) for b, n in enumerate(line) if n}
    assert told == flows
    shown = chart("moves", [run]).data[0]
    for name, line in zip(shown["y"], shown["z"], strict=True):
        assert [-1 if group is None else group for group in line] == expected[int(name)]
    lasts = [expected[int(name)][-1] for name in shown["y"]]
    assert lasts == sorted(lasts)


@given(st.dictionaries(st.integers(1, 6), st.sets(st.integers(0, 9), min_size=1)))
def test_marks_are_the_clients_that_changed(changed: dict[int, set[int]]) -> None:
    shifts = table(
        round=list(changed),
        clients=[spans(table(x=sorted(each))["x"]) for each in changed.values()],
    )
    run = record([0.1] * 4, clients=10, shifts=shifts if changed else {})
    found = [set(clients.tolist()) for clients in shift_marks(run)]
    assert found == [changed.get(each, set()) for each in range(5)]


def test_a_million_clients_take_no_room_for_all_their_rounds() -> None:
    many, rounds = 10**6, 300
    group = np.arange(many) % 5
    membership = {"round": np.zeros(many, np.int64), "client": np.arange(many), "group": group}
    big = record([0.5] * rounds, clients=many, membership=membership)
    tracemalloc.start()
    try:
        drawn = chart("moves", [big])
        assert tracemalloc.get_traced_memory()[1] < many * rounds / 2
    finally:
        tracemalloc.stop()
    assert "(1,000 of 1,000,000 are drawn)" in drawn.text
