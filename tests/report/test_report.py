"""Runs in order: what can be compared stands together, and every name says what differs."""

from pathlib import Path
from typing import Any

import pytest

from flexcfl.errors import SettingsError
from flexcfl.report.charts import OF_METHODS, OF_RUN
from flexcfl.report.page import Report, html
from flexcfl.report.page.page import page_state
from tests.report.runs import ROUNDS, copied, made

DIGITS = f"digits, mclr, swap-all, {ROUNDS} rounds"


@pytest.fixture
def report(tmp_path_factory: pytest.TempPathFactory) -> Any:
    def of(*runs: tuple[str, dict[str, Any]]) -> Report:
        return Report.of([made(tmp_path_factory, name, **settings) for name, settings in runs])

    return of


def named(report: Report) -> dict[str, list[tuple[str, int]]]:
    return {each.name: [(run.method, run.seed) for run in each.runs] for each in report.settings}


def test_methods_stand_in_the_order_in_which_they_were_named_and_seeds_ascend(report: Any) -> None:
    runs = [("ifca", {"seed": 1}), ("fedavg", {}), ("ifca", {}), ("fedavg", {"seed": 1})]
    expected = [("ifca", 0), ("ifca", 1), ("fedavg", 0), ("fedavg", 1)]
    assert named(report(*runs)) == {DIGITS: expected}
    assert list(report(*runs).settings[0].methods) == ["ifca", "fedavg"]


def test_one_algorithm_with_other_options_is_another_method(report: Any) -> None:
    found = report(("ifca", {}), ("ifca", {"groups": 3}), ("fedavg", {}), ("ifca", {"cohort": 4}))
    assert [method for method, _ in named(found)[DIGITS]] == [
        "ifca (groups 2, run cohort 5)",
        "ifca (groups 3, run cohort 5)",
        "fedavg",
        "ifca (groups 2, run cohort 4)",
    ]


def test_where_and_when_a_run_is_computed_makes_no_other_method(report: Any) -> None:
    assert named(report(("fedavg", {}), ("fedavg", {"run__checkpoint_rounds": 3, "seed": 1}))) == {
        DIGITS: [("fedavg", 0), ("fedavg", 1)]
    }


@pytest.mark.parametrize(
    ("other", "names"),
    [
        ({"rounds": 4}, [DIGITS, DIGITS.replace("6 rounds", "4 rounds")]),
        ({"shift": "swap-part"}, [DIGITS, DIGITS.replace("swap-all", "swap-part")]),
        ({"data__clients": 14}, [f"{DIGITS} (data clients 12)", f"{DIGITS} (data clients 14)"]),
        (
            {"shift__probability": 0.1},
            [f"{DIGITS} (shift probability 0.3)", f"{DIGITS} (shift probability 0.1)"],
        ),
    ],
)
def test_what_cannot_be_compared_is_another_setting(
    other: dict[str, Any], names: list[str], report: Any
) -> None:
    found = report(("fedavg", {}), ("ifca", other))
    assert named(found) == {names[0]: [("fedavg", 0)], names[1]: [("ifca", 0)]}


def test_a_run_that_was_run_twice_is_told_apart_by_its_folder(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run = made(tmp_path_factory, "fedavg")
    for name in ("first", "second"):
        copied(run, tmp_path, name)
    found = Report.of([tmp_path, made(tmp_path_factory, "ifca")])
    titles = ["fedavg, seed 0 (first)", "fedavg, seed 0 (second)", "ifca, seed 0"]
    assert found.settings[0].titles == titles
    shown = page_state(found, live=False)["settings"][0]["runs"]
    assert [run["name"] for run in shown] == titles


def test_chapters_are_of_each_setting_and_of_each_run(report: Any) -> None:
    found = report(("fedavg", {}), ("flexcfl", {}), ("fedavg", {"rounds": 4}))
    assert found.chapters() == ["0", "0-0", "0-1", "1", "1-0"]
    assert [each["name"] for each in found.chapter("0")] == list(OF_METHODS)
    assert [each["name"] for each in found.chapter("0-1")] == list(OF_RUN)
    assert [line["name"] for line in found.chapter("0")[0]["data"]] == ["fedavg", "flexcfl"]
    assert [line["name"] for line in found.chapter("1")[0]["data"]] == ["fedavg"]
    assert len(found.chapter("1")[0]["data"][0]["x"]) == 4


def test_the_run_that_is_shown_first_has_groups(report: Any) -> None:
    found = report(("fedavg", {}), ("flexcfl", {}))
    assert page_state(found, live=False)["settings"][0]["first"] == 1
    assert page_state(report(("fedavg", {})), live=False)["settings"][0]["first"] == 0


def test_the_order_of_settings_in_a_file_makes_no_other_setting(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run = made(tmp_path_factory, "fedavg")
    other = copied(run, tmp_path)
    text = (other / "experiment.toml").read_text()
    assert text.count("clients = 12\n") == 1
    turned = text.replace("clients = 12\n", "").replace("[data]\n", "[data]\nclients = 12\n")
    (other / "experiment.toml").write_text(turned)
    assert named(Report.of([run, other])) == {DIGITS: [("fedavg", 0), ("fedavg", 0)]}


def test_a_damaged_run_is_refused_by_its_name_and_left_out_of_a_folder(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run = made(tmp_path_factory, "fedavg")
    whole, damaged = (copied(run, tmp_path, name) for name in ("whole", "damaged"))
    (damaged / "rounds.csv").write_text("round\n<script>\n")
    with pytest.raises(SettingsError, match=r"'.*damaged' cannot be shown"):
        Report.of([damaged])
    found = Report.of([tmp_path])
    assert [run.path for run in found.runs] == [whole]
    (sentence,) = found.left_out
    assert f"'{damaged}' cannot be shown" in sentence
    assert f"{damaged}&#39; cannot be shown" in html(found)
    (whole / "rounds.csv").unlink()
    (whole / "rounds.csv").mkdir()
    with pytest.raises(SettingsError, match="cannot be shown"):
        Report.of([tmp_path])
