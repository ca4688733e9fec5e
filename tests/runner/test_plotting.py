"""A run drawn from Python: any chart as a Plotly figure, and what notebooks show of it."""

import re
from pathlib import Path

import numpy as np
import pytest
from plotly.graph_objects import Figure

import flexcfl
from flexcfl.data import Federation, IndexLists
from flexcfl.errors import SettingsError
from flexcfl.report.charts import OF_METHODS, OF_RUN
from flexcfl.report.page import Report
from tests.comparison.here import all_done_here


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> flexcfl.Run:
    out = tmp_path_factory.mktemp("runs") / "one"
    return flexcfl.run(dataset="digits", shift="swap-all", rounds=8, out=out)


@pytest.mark.parametrize("name", [*OF_METHODS, *OF_RUN])
def test_every_chart_is_a_figure_and_the_same_as_that_of_the_folder(
    name: str, run: flexcfl.Run
) -> None:
    assert run.folder is not None
    figure = run.plot(name)
    assert isinstance(figure, Figure)
    chapters = Report.of([run.folder])
    charts = {
        chart["name"]: chart for part in chapters.chapters() for chart in chapters.chapter(part)
    }
    assert figure.layout.title.text == charts[name]["title"]
    assert Figure(charts[name]["data"]).to_dict()["data"] == figure.to_dict()["data"]


def test_accuracy_is_drawn_by_default(run: flexcfl.Run) -> None:
    (line,) = run.plot().data
    known = run.rounds["accuracy"][~np.isnan(run.rounds["accuracy"])]
    np.testing.assert_allclose(line.y, 100 * known, rtol=1e-5)


def test_an_unknown_chart_is_refused_in_a_sentence(run: flexcfl.Run) -> None:
    with pytest.raises(SettingsError, match="no chart 'move': did you mean 'moves'"):
        run.plot("move")
    plain = flexcfl.run(dataset="digits", algorithm="fedavg", rounds=1)
    with pytest.raises(SettingsError, match="no chart 'founders': its groups were not found by"):
        plain.plot("founders")


def test_a_notebook_shows_the_results_and_the_curve(run: flexcfl.Run) -> None:
    shown = run._repr_html_()
    final = f"{run.accuracy.final:.1%}"
    assert f"accuracy over 8 rounds, final {final}, best {run.accuracy.best:.1%}<" in shown
    assert f"final {final} (the mean of the last ten rounds)" in shown
    points = re.search(r'<polyline points="([^"]+)"', shown)
    assert points is not None
    measured = np.count_nonzero(~np.isnan(run.rounds["accuracy"]))
    assert len(points[1].split()) == measured
    assert "<script" not in shown


def test_names_of_clients_are_kept_and_drawn_as_they_are() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 4)).astype(np.float32), rng.integers(2, size=60)
    lists = IndexLists.of([np.arange(start, start + 8) for start in range(0, 60, 10)])
    tests = IndexLists.of([np.arange(start + 8, start + 10) for start in range(0, 60, 10)])
    names = ("<script>alert(1)</script>", "b&b", '"c"', "d", "", "5")
    federation = Federation("mine", x, y, lists, tests, classes=2, names=names)
    run = flexcfl.run(dataset=federation, model="mclr", rounds=2, groups=2, cohort=3)
    assert run.names == names
    rows = run.plot("moves").data[0].y
    assert "0 (&lt;script&gt;alert(1)&lt;/script&gt;)" in rows
    assert "5" in rows  # a name that is the number is said once


@pytest.mark.parametrize("names", ["abc", ("a", "b"), ("a", "b", 3)])
def test_names_are_those_of_all_clients(names: tuple[str, ...]) -> None:
    x, y = np.zeros((3, 1), dtype=np.float32), np.zeros(3, dtype=np.int64)
    lists = IndexLists.of([np.array([place]) for place in range(3)])
    with pytest.raises(flexcfl.errors.DataError, match=r"[Nn]ames"):
        Federation("mine", x, y, lists, lists, classes=1, names=names)


def test_comparisons_are_drawn_and_shown_as_well(tmp_path: Path) -> None:
    with all_done_here():
        compared = flexcfl.compare(["fedavg", "flexcfl"], rounds=6, seeds=2, out=tmp_path / "it")
    figure = compared.plot("traffic")
    assert [trace.name for trace in figure.data] == ["fedavg", "flexcfl"]
    shown = compared._repr_html_()
    assert shown.count("<tr") == 3
    assert "<td>flexcfl</td>" in shown
    assert "<p>ranked: by final, the mean of the last ten rounds" in shown
    with pytest.raises(SettingsError, match="no chart of a comparison 'moves'"):
        compared.plot("moves")


def test_a_comparison_without_a_folder_has_its_accuracy() -> None:
    with all_done_here():
        compared = flexcfl.compare(["fedavg"], rounds=3, seeds=2)
    band, line = compared.plot().data
    np.testing.assert_allclose(line.y, 100 * compared.curves["fedavg"].mean(axis=0), rtol=1e-5)
    assert max(band.y) >= max(line.y)
    with pytest.raises(SettingsError, match=r"give flexcfl\.compare a folder with out="):
        compared.plot("loss")
