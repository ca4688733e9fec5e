"""What every chart of every algorithm keeps to."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import plotly.graph_objects as go
import pytest

from flexcfl.algorithms import ALGORITHMS
from flexcfl.errors import SettingsError
from flexcfl.record.reading import read
from flexcfl.record.record import Record
from flexcfl.report.charts import NEEDED, OF_METHODS, OF_RUN, Chart, chart, charts_of_run
from flexcfl.report.charts.palette import (
    COLOURS,
    DARK,
    MARK,
    MIDDLING,
    NEUTRAL,
    PALE,
    SEQUENCE,
    group_colour,
)
from tests.report.charts.constructed import NONE, members, record, table
from tests.report.colours import PAPER, contrast, distance
from tests.report.runs import made

LIGHT = {colour.lower() for colour in DARK}


@pytest.fixture(params=sorted(ALGORITHMS))
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Record:
    return read(made(tmp_path_factory, request.param))


def drawn(run: Record) -> list[Chart]:
    return [*(of([run]) for of in OF_METHODS.values()), *charts_of_run(run)]


def check(each: Chart) -> None:
    go.Figure(each.figure)  # which refuses whatever Plotly does not know
    json.dumps(each.content(), allow_nan=False)
    assert each.title
    assert each.text == " ".join(each.text.split())
    assert each.text.endswith(".")
    assert len(set(each.columns)) == len(each.columns)
    assert each.layout["height"] >= 300
    for name in ("xaxis", "yaxis"):
        assert each.layout[name]["title"]["text"]
    strangers = {colour[:7].lower() for colour in colours(each.figure)} - LIGHT
    assert not strangers


def colours(value: Any) -> Iterator[str]:
    if isinstance(value, str) and re.fullmatch(r"#[0-9A-Fa-f]{6,8}", value):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from colours(each)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for each in value:
            yield from colours(each)


def test_every_chart_of_every_algorithm_is_one_for_plotly_and_for_json(run: Record) -> None:
    for each in drawn(run):
        check(each)


def test_charts_are_known_by_their_names(run: Record) -> None:
    assert [each.name for each in drawn(run)[: len(OF_METHODS)]] == list(OF_METHODS)
    for each in drawn(run):
        assert chart(each.name, [run]).content() == each.content()


def test_a_real_run_has_all_charts(tmp_path_factory: pytest.TempPathFactory) -> None:
    run = read(made(tmp_path_factory, "flexcfl"))
    assert [each.name for each in charts_of_run(run)] == list(OF_RUN)
    assert next(colours(charts_of_run(run)[0].figure))  # so that looking for colours finds any


def test_what_a_run_does_not_have_is_not_drawn_and_told_if_asked_for() -> None:
    bare = record()
    assert {each.name for each in charts_of_run(bare)} == set(OF_RUN) - set(NEEDED) - {"flows"}
    for name in NEEDED:
        with pytest.raises(SettingsError, match=f"This run has no chart '{name}': "):
            chart(name, [bare])
    with pytest.raises(SettingsError, match="no chart 'acuracy': did you mean 'accuracy'"):
        chart("acuracy", [bare])


STRANGE = {
    "nothing done": record([]),
    "nothing measured": record([NONE, NONE]),
    "one round": record([0.5], membership=members((0, 0, 0))),
    "nobody known": record(clients=0),
    "one group": record(
        groups=table(round=[1, 2], group=[0, 0], accuracy=[0.1, 0.2], clients=[4, 4])
    ),
    "very many groups": record(
        clients=500,
        membership=members(*((r, c, (c + r) % 500) for r in range(3) for c in range(500))),
        groups=table(
            round=[1] * 500, group=range(500), accuracy=[0.5] * 500, clients=[1] * 500
        ),
    ),
    "one direction": record(founders=table(client=[0, 1], group=[0, 1], x0=[0.1, 0.2])),
    "no direction": record(founders=table(client=[0, 1], group=[0, 1])),
    "unknown shifts": record(figures=table(shifted=[NONE] * 3)),
}  # fmt: skip


@pytest.mark.parametrize("name", STRANGE)
def test_strange_runs_are_drawn_as_well(name: str) -> None:
    for each in drawn(STRANGE[name]):
        check(each)


def test_of_very_many_groups_the_busiest_are_shown_between_which_clients_moved() -> None:
    rows = [(0, client, client) for client in range(500)]
    rows += [(1, client, 499) for client in range(100, 110)]
    flows = chart("flows", [record(clients=500, membership=members(*rows), groups=table(
        round=[1] * 500, group=range(500), accuracy=[0.5] * 500, clients=[1] * 500
    ))])  # fmt: skip
    assert len(flows.data[0]["x"]) == 40
    assert sum(map(sum, flows.data[0]["z"])) == 10
    assert "from group 100 to group 499, 1 times. 40 of 500 groups are drawn." in flows.text


def test_every_colour_has_one_for_dark_paper() -> None:
    groups = {group_colour(group) for group in range(100)}
    assert {*COLOURS, *groups, *SEQUENCE, MARK, NEUTRAL} <= set(DARK)
    assert len(groups) == 21
    assert all(re.fullmatch("#[0-9A-F]{6}", each) for pair in DARK.items() for each in pair)


@pytest.mark.parametrize("theme", PAPER)
def test_lines_stand_out_from_the_paper_and_from_each_other(theme: str) -> None:
    def shown(colour: str) -> str:
        return DARK.get(colour, colour) if theme == "dark" else colour

    lines = [shown(colour) for colour in COLOURS]
    groups = [shown(group_colour(group)) for group in range(21)]
    assert {c: contrast(c, PAPER[theme]) for c in [*lines, *groups]} == {
        c: pytest.approx(max(contrast(c, PAPER[theme]), 3)) for c in [*lines, *groups]
    }
    assert min(distance(one, other) for one, other in combinations(lines, 2)) > 15
    assert len(set(groups)) == 21
    for paper in (PALE, MIDDLING):  # the numbers in the cells of moves between groups
        assert contrast(shown(MARK), shown(paper)) >= 4.5
