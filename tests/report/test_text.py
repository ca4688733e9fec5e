"""Words and tables: they say what the runs' own summaries say."""

import json
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flexcfl.algorithms import ALGORITHMS
from flexcfl.report.page import Report, html, text
from flexcfl.report.page.content import Setting
from flexcfl.report.page.page import page_state
from tests.report.folders import construct
from tests.report.runs import CLIENTS, ROUNDS, broken_off, made


def summary(folder: Path) -> Any:
    return json.loads((folder / "summary.json").read_text())


@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
def test_a_line_is_the_summary_of_its_run(
    algorithm: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = made(tmp_path_factory, algorithm)
    told, traffic = summary(folder), summary(folder)["traffic"]
    (line,) = text.result_lines(Report.of([folder]).settings[0])
    assert line == text.Line(
        method=algorithm,
        seeds="0",
        rounds=str(ROUNDS),
        final=f"{100 * told['accuracy']['final']:.1f}",
        best=f"{100 * told['accuracy']['best']:.1f}",
        traffic=f"x{traffic['relative_to_fedavg']:.2f}",
        megabytes=f"{(traffic['down_bytes'] + traffic['up_bytes']) / 1e6:,.1f}",
        migrations=f"{told['migrations']}",
        rank=(False, -told["accuracy"]["final"]),
        is_first=True,
    )


def test_several_seeds_are_a_mean_with_their_spread(tmp_path: Path) -> None:
    curves = [[0.5, 0.6, 0.7], [0.8, 0.6, 0.6]]
    for seed, curve in enumerate(curves):
        construct(tmp_path / str(seed), seed=seed, accuracy=curve)
    (line,) = text.result_lines(Report.of([tmp_path]).settings[0])
    final = [100 * statistics.fmean(curve) for curve in curves]
    assert line.final == f"{statistics.fmean(final):.1f} ± {statistics.stdev(final):.1f}"
    assert (line.best, line.seeds, line.is_first) == ("75.0 ± 7.1", "0, 1", True)


@pytest.mark.parametrize("late", [False, True])
def test_lines_are_ranked_by_the_last_ten_rounds_that_all_are_measured_in(
    late: bool, tmp_path: Path
) -> None:
    """The first curve has the best round, and it is the lowest in the end."""
    curves: dict[str, list[float | None]] = {
        "swinging": [0.99, 0.97, *[0.5] * 10],
        "steady": [None if late else 0.1, *[0.9] * 11],
        "plain": [0.2, *[0.7] * 11],
        "unplaced": [None] * 12,
    }
    folders = [construct(tmp_path / name, method=name, accuracy=curves[name]) for name in curves]
    found = text.result_lines(Report.of(folders).settings[0])
    assert [line.method for line in found] == ["steady", "plain", "swinging", "unplaced"]
    assert [line.is_first for line in found] == [True, False, False, False]
    assert [line.final for line in found] == ["90.0", "70.0", "50.0", "-"]
    assert found[2].best == ("97.0" if late else "99.0")
    assert page_state(Report.of(folders), live=False)["settings"][0]["first"] == 1  # the steady one
    page = " ".join(html(Report.of(folders)).split())
    which = "the rounds 2 to 12" if late else "the rounds 1 to 12"
    assert f"accuracy over {which}, in which every method is measured" in page
    assert page.count('<tr class="first"> <th scope="row">steady') == 1


def test_the_facts_are_those_of_the_run(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = made(tmp_path_factory, "flexcfl")
    facts = text.facts(Report.of([folder]).settings[0])
    labels = [line.split(",") for line in (folder / "labels.csv").read_text().splitlines()[1:]]
    train, test = (sum(int(row[place]) for row in labels) for place in (2, 3))
    assert facts["data"] == (
        f"digits, {CLIENTS} clients, {train:,} training and {test:,} test examples"
    )
    assert facts["model"] == f"mclr, {summary(folder)['parameters']:,} parameters"
    assert facts["shift"] == "swap-all, probability 0.3"
    assert facts["rounds"] == f"{ROUNDS} with 5 clients each"
    assert facts["local training"] == "1 epochs, mini-batches of 4, rate 0.1"
    assert f"flexcfl {summary(folder)['versions']['flexcfl']}" in facts["made by"]


@pytest.mark.parametrize(
    ("schedule", "told"),
    [
        ([{"round": 0, "share": 0.25}, {"round": 13, "share": 0.5}], "before round 13)"),
        ([{"round": 0, "share": 0.25}, {"round": 12, "share": 0.5}], "incremental"),
        ([{"round": 0, "share": 1.0}], "incremental"),
        (["never", {"later": 13}], "incremental"),
        ({"round": 13}, "incremental"),
    ],
)
def test_rounds_in_which_nothing_is_released_are_told(
    tmp_path: Path, schedule: object, told: str
) -> None:
    (run,) = Report.of([construct(tmp_path / "run", rounds=12)]).runs
    settings = {**run.settings, "shift": {"name": ["incremental"], "schedule": schedule}}
    setting = Setting("one", [replace(run, settings=settings)])
    assert text.facts(setting)["shift"].endswith(told)


def test_facts_in_which_runs_differ_are_all_told(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folders = [made(tmp_path_factory, "fedavg"), made(tmp_path_factory, "ifca", cohort=4)]
    facts = text.facts(Report.of(folders).settings[0])
    assert facts["rounds"] == f"{ROUNDS} with 5 clients each or {ROUNDS} with 4 clients each"
    assert facts["methods"] == "fedavg, ifca"


def test_how_far_runs_are(tmp_path_factory: pytest.TempPathFactory) -> None:
    done, stopped = made(tmp_path_factory, "fedavg"), broken_off(tmp_path_factory, 3)
    assert text.progress_text(Report.of([done])) == "finished"
    assert text.progress_text(Report.of([stopped])) == f"round 3 of {ROUNDS}"
    both = Report.of([done, stopped])
    assert text.progress_text(both) == f"1 of 2 runs finished, round {ROUNDS + 3} of {2 * ROUNDS}"
    rounds = {line.method: line.rounds for line in text.result_lines(both.settings[0])}
    assert rounds == {"fedavg": f"{ROUNDS}", "flexcfl": f"3 of {ROUNDS}"}
    assert text.title(both) == "fedavg, flexcfl on digits"


def test_a_run_is_run_again_from_its_own_settings(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = made(tmp_path_factory, "fedavg")
    (again,) = text.reruns(Report.of([folder]).settings[0])
    assert again.command == f"flexcfl run {folder / 'experiment.toml'}"
    assert again.text == (folder / "experiment.toml").read_text()
