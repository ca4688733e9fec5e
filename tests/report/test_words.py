"""Words and tables: they say what the runs' own summaries say."""

import json
import statistics
from pathlib import Path
from typing import Any

import pytest

from flexcfl.algorithms import ALGORITHMS
from flexcfl.report import Book, words
from tests.report.runs import CLIENTS, ROUNDS, broken_off, made


def summary(folder: Path) -> Any:
    return json.loads((folder / "summary.json").read_text())


@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
def test_a_line_is_the_summary_of_its_run(
    algorithm: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = made(tmp_path_factory, algorithm)
    told, traffic = summary(folder), summary(folder)["traffic"]
    (line,) = words.lines(Book.of([folder]).settings[0])
    assert line == words.Line(
        method=algorithm,
        seeds="0",
        rounds=str(ROUNDS),
        best=f"{100 * told['accuracy']['best']:.1f}",
        final=f"{100 * told['accuracy']['final']:.1f}",
        cost=f"x{traffic['relative_to_fedavg']:.2f}",
        megabytes=f"{(traffic['down_bytes'] + traffic['up_bytes']) / 1e6:,.1f}",
        migrations=f"{told['migrations']}",
        is_best=True,
    )


def test_several_seeds_are_a_mean_with_their_spread(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folders = [made(tmp_path_factory, "flexcfl", seed=seed) for seed in (0, 1)]
    other = made(tmp_path_factory, "fedavg")
    flexcfl, fedavg = words.lines(Book.of([*folders, other]).settings[0])
    best = [100 * summary(folder)["accuracy"]["best"] for folder in folders]
    assert flexcfl.best == f"{statistics.fmean(best):.1f} ± {statistics.stdev(best):.1f}"
    assert (flexcfl.seeds, flexcfl.is_best, fedavg.is_best) == ("0, 1", True, False)


def test_the_facts_are_those_of_the_run(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = made(tmp_path_factory, "flexcfl")
    facts = words.facts(Book.of([folder]).settings[0])
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


def test_facts_in_which_runs_differ_are_all_told(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folders = [made(tmp_path_factory, "fedavg"), made(tmp_path_factory, "ifca", cohort=4)]
    facts = words.facts(Book.of(folders).settings[0])
    assert facts["rounds"] == f"{ROUNDS} with 5 clients each or {ROUNDS} with 4 clients each"
    assert facts["methods"] == "fedavg, ifca"


def test_how_far_runs_are(tmp_path_factory: pytest.TempPathFactory) -> None:
    done, stopped = made(tmp_path_factory, "fedavg"), broken_off(tmp_path_factory, 3)
    assert words.state(Book.of([done])) == "finished"
    assert words.state(Book.of([stopped])) == f"round 3 of {ROUNDS}"
    both = Book.of([done, stopped])
    assert words.state(both) == f"1 of 2 runs finished, round {ROUNDS + 3} of {2 * ROUNDS}"
    line = words.lines(both.settings[0])[1]
    assert (line.method, line.rounds) == ("flexcfl", f"3 of {ROUNDS}")
    assert words.title(both) == "fedavg, flexcfl on digits"


def test_a_run_is_run_again_from_its_own_settings(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = made(tmp_path_factory, "fedavg")
    (again,) = words.again(Book.of([folder]).settings[0])
    assert again.command == f"flexcfl run {folder / 'experiment.toml'}"
    assert again.text == (folder / "experiment.toml").read_text()
