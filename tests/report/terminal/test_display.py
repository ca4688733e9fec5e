"""What is shown before and after a run."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import flexcfl
from flexcfl.algorithms import ALGORITHMS
from flexcfl.data import Federation
from flexcfl.experiment.layers import SettingsLayer
from flexcfl.experiment.objects import UserObjects
from flexcfl.experiment.resolve import resolve
from flexcfl.record.tables import ROUNDS
from flexcfl.report.terminal.run_results import result_rows
from flexcfl.report.terminal.setting_rows import resolved_rows
from flexcfl.runner.console_run import sizes_of
from flexcfl.runner.prepare import Prepared, prepare
from flexcfl.runner.result import Run

SHORT: dict[str, Any] = {"rounds": 3, "cohort": 3, "epochs": 1}
FEDAVG: dict[str, Any] = {**SHORT, "algorithm": "fedavg"}


@pytest.fixture(scope="module")
def run(blobs: Federation) -> Run:
    return flexcfl.run(dataset=blobs, **FEDAVG)


def shown(run: Run) -> dict[str, str]:
    return {name: text.plain for name, text in result_rows(run).items()}


def summarised(run: Run, **changes: Any) -> Run:
    summary: Any = {**run.summary, **changes}
    return replace(run, summary=summary)


def grouped(run: Run, group_of: list[int], groups: int, **changes: Any) -> Run:
    """Return the run as if it had these groups."""
    models = [run.models[0]] * groups
    placed = sum(group >= 0 for group in group_of)
    known = {"groups": groups, "placed": placed, "clients": len(group_of), **changes}
    return replace(summarised(run, **known), models=models, group_of=np.array(group_of))


def test_one_model_for_everybody_has_no_rows_on_groups(run: Run) -> None:
    rows = ["accuracy", "reached", "loss", "discrepancy", "traffic", "time", "folder"]
    assert list(shown(run)) == rows


def test_training_that_diverged_in_most_rounds_is_told(run: Run) -> None:
    for attack, advice in ((None, ""), ({"clients": 2, "name": "noise"}, "if no client is ")):
        rejected = {**run.summary["rejected"], "not_finite": 9}
        told = shown(summarised(run, rounds=20, diverged=14, attack=attack, rejected=rejected))
        assert told["warning"].startswith(f"training diverged in 14 of 20 rounds: {advice}")
        assert told["warning"].endswith("lower the rate (--rate)")
        assert told["refused"] == "9 not finite (answers, over all rounds)"
        seldom = shown(summarised(run, rounds=20, diverged=10, attack=attack, rejected=rejected))
        assert "warning" not in seldom
        assert seldom["refused"].endswith("if no client is at fault, lower the rate (--rate)")
    earlier: Any = {name: value for name, value in run.summary.items() if name != "diverged"}
    assert "warning" not in shown(replace(run, summary=earlier))


def test_what_was_not_measured_is_told_with_the_reason(run: Run) -> None:
    never = {**run.rounds, "accuracy": np.full(len(run.rounds["accuracy"]), np.nan)}
    rows = shown(
        replace(summarised(run, placed=2, clients=6), tables={**run.tables, ROUNDS: never})
    )
    assert rows["accuracy"].startswith("not measured, because only 2 of 6 clients have a group")
    assert "reached" not in rows


def test_a_late_first_measurement_is_told(run: Run) -> None:
    late = {"best": 0.9, "final": 0.8, "median": 0.85, "first_round": 3}
    attack = {"clients": 2, "name": "noise"}
    rows = shown(summarised(run, accuracy=late, honest=late, attack=attack))
    told = "best 90.0%, final 80.0% (the mean of the last ten rounds), median 85.0%"
    assert rows["accuracy"] == f"{told}, measured from round 3 on"
    others = "without the 2 clients that attack (noise), measured from round 3 on"
    assert rows["honest"] == f"best 90.0%, final 80.0%, median 85.0% {others}"
    early = shown(summarised(run, accuracy={**late, "first_round": 1}))
    del late["first_round"]  # as earlier versions left it
    assert shown(summarised(run, accuracy=late))["accuracy"] == early["accuracy"] == told


def test_a_sample_is_told(blobs: Federation) -> None:
    part = flexcfl.run(dataset=blobs, set={"run.evaluate_clients": 4}, **FEDAVG)
    told = "accuracies are over 4 of 6 clients; 4 of them had a group in the last round"
    assert shown(part)["sample"] == told


def test_newcomers_and_the_auxiliary_model_have_rows_where_they_exist(run: Run) -> None:
    summed = {"best": 0.5, "final": 0.25, "median": 0.125}
    rows = shown(summarised(run, newcomers=summed))
    assert rows["newcomers"] == "best 50.0%, final 25.0%, median 12.5%"
    assert "auxiliary" not in rows
    assert shown(summarised(run, auxiliary=summed))["auxiliary"].startswith("best 50.0%")


@pytest.mark.parametrize(
    ("group_of", "groups", "changes", "text"),
    [
        ([0, 1, 1, 2], 3, {}, "3 of 1, 2 and 1 clients"),
        ([0, 0, 0, 0], 2, {}, "1 of 4 clients, 1 without clients"),
        ([0, 1, 1, -1], 2, {}, "2 of 1 and 2 clients, 1 client without a group"),
        ([*range(20), 0], 20, {}, "20 of 1 to 2 clients"),
        ([*range(20)], 20, {}, "20 of 1 client each"),
        ([-1, -1], 2, {}, "2 without clients, 2 clients without a group"),
        (
            [0, 1],
            2,
            {"adjusted_rand_index": 1.0, "clustering": {"silhouette": 0.876}},
            "2 of 1 and 1 clients, adjusted Rand index 1.000, silhouette of the clustering 0.88",
        ),
        ([0, 1], 2, {"clustering": {"silhouette": None}}, "2 of 1 and 1 clients"),
    ],
)
def test_groups_are_shown_by_their_sizes_and_worth(
    run: Run, group_of: list[int], groups: int, changes: dict[str, Any], text: str
) -> None:
    assert shown(grouped(run, group_of, groups, **changes))["groups"] == text


def test_arrivals_are_shown_as_they_could_be_typed() -> None:
    table = {"arrivals": [{"round": 5, "share": 0.2}, {"round": 9, "share": 0.1}]}
    rows = resolved_rows(resolve([SettingsLayer("file", {"data": table})]), None)
    assert "arrivals [{round=5,share=0.2},{round=9,share=0.1}] (file)" in rows["data"].plain
    assert "arrivals" not in resolved_rows(resolve([]), None)["data"].plain


@pytest.fixture
def prepared(blobs: Federation) -> Prepared:
    mine = SettingsLayer("given", {"data": {"name": "blobs"}, "algorithm": {"name": "fedavg"}})
    return prepare(resolve([mine], UserObjects(blobs)).experiment, UserObjects(blobs))


def test_memory_is_told_where_there_is_need_and_by_itself_where_it_is_much(
    prepared: Prepared,
) -> None:
    plain = {name: text.plain for name, text in sizes_of(prepared, "some data").items()}
    assert list(plain) == ["sizes"]
    assert plain["sizes"].endswith("9 parameters")
    some = sizes_of(replace(prepared, memory=31_400_000), "some data")
    assert list(some) == ["sizes"]
    assert some["sizes"].plain.endswith("9 parameters, 31 MB of clients' vectors")
    much = sizes_of(replace(prepared, memory=393_000_000), "some data")
    assert much["memory"].plain == "about 393 MB for the client vectors that fedavg stores"


def test_an_algorithm_that_needs_more_memory_than_there_is_is_refused(
    blobs: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = SimpleNamespace()

    def needed(options: Any, clients: int, parameters: int) -> int:
        asked.sizes = (clients, parameters)
        return 10**18

    greedy = {**ALGORITHMS, "fedavg": replace(ALGORITHMS["fedavg"], memory=needed)}
    monkeypatch.setattr("flexcfl.runner.prepare.ALGORITHMS", greedy)
    with pytest.raises(flexcfl.errors.SettingsError, match="'fedavg' would need about 1000000 TB"):
        flexcfl.run(dataset=blobs, **FEDAVG)
    assert asked.sizes == (6, 9)


def test_what_numba_would_be_good_for_is_told_where_it_is_missing(
    prepared: Prepared, blobs: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "speed" not in sizes_of(prepared, "some data")
    monkeypatch.setattr("flexcfl.engine.paths.can_compile", lambda: False)
    without = prepare(prepared.experiment, UserObjects(blobs))
    assert without.engine.path == "dense"
    assert "Numba" in sizes_of(without, "some data")["speed"].plain
