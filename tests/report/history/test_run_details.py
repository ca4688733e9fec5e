"""One run, all of it: against its files, unfinished, and from hostile hands."""

import csv
import json
import shutil
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flexcfl
from flexcfl.errors import SettingsError
from flexcfl.report.history import RunDetails, details, difference, runs
from flexcfl.report.history.details_view import BLOCKS, PLAIN, detail_rows, sparkline
from tests.report.folders import construct
from tests.report.runs import ROUNDS, copied, made

STRANGE: tuple[object, ...] = ("x", [1], {"a": {"b": []}}, True, None)
HOSTILE = "\x1b[2J[red]\x07\u202e"


def words(run: RunDetails, width: int = 80, ascii_only: bool = False) -> str:
    """Return all that is said of a run."""
    sections = detail_rows(run, width, ascii_only)
    return "\n".join(
        f"{name} {text.plain}" for section in sections for name, text in section.items()
    )


def test_a_run_is_what_its_tables_say(folder: Path) -> None:
    run = details(folder)
    with (folder / "groups.csv").open() as file:
        last = [line for line in csv.DictReader(file) if line["round"] == str(ROUNDS)]
    assert [(group.group, group.clients) for group in run.groups] == [
        (int(line["group"]), int(line["clients"])) for line in last
    ]
    sent: Counter[str] = Counter()
    with (folder / "ledger.csv").open() as file:
        for line in csv.DictReader(file):
            sent[line["purpose"]] += int(line["down_bytes"])
    assert {purpose: cost.down_bytes for purpose, cost in run.traffic.items()} == sent
    assert len(run.accuracy) == ROUNDS
    assert np.nanmax(run.accuracy) == run.row.figures["best"]
    assert run.again == f"flexcfl run {folder}/experiment.toml"
    named = {each.name for each in folder.iterdir()}
    assert named - {".lock"} == run.files.keys()


def test_what_is_not_the_default_is_marked_with_the_default(folder: Path) -> None:
    run = details(folder)
    assert run.defaults["run.rounds"] == 100
    assert "algorithm.name" not in run.defaults
    assert all(run.row.settings[name] != usual for name, usual in run.defaults.items())
    assert f"rounds {ROUNDS} (default 100)" in words(run)


@pytest.mark.slow
def test_a_run_of_defaults_has_nothing_to_mark(tmp_path: Path) -> None:
    flexcfl.run(dataset="digits", algorithm="fedavg", rounds=1, out=tmp_path / "a")
    assert details(tmp_path / "a").defaults == {"run.rounds": 100}


def test_a_run_that_is_not_finished_is_shown_as_far_as_it_is(stopped: Path) -> None:
    run = details(stopped)
    told = words(run)
    assert f"interrupted after round 3 of {ROUNDS}" in told
    assert f"resume flexcfl resume {stopped}" in told
    assert "checkpoints to resume it from" in told
    assert "versions" not in told
    assert len(run.accuracy) == 3


def test_a_run_without_a_round_can_be_shown(stopped: Path, tmp_path: Path) -> None:
    path = copied(stopped, tmp_path)
    for name in ("rounds.csv", "groups.csv", "ledger.csv", "membership.csv"):
        (path / name).unlink()
    assert "rounds none yet" in words(details(path))


def test_json_is_complete(folder: Path, stopped: Path) -> None:
    for path in (folder, stopped):
        content = details(path).content()
        assert json.loads(json.dumps(content, allow_nan=False)) == content
        assert {"settings", "figures", "summary", "accuracy", "groups", "traffic"} <= set(content)
        assert {"files", "versions", "again", "defaults", "state", "folder"} <= set(content)


def test_a_folder_with_one_run_in_it_will_do_and_with_two_will_not(
    folder: Path, tmp_path: Path
) -> None:
    copied(folder, tmp_path, "one")
    assert details(tmp_path).row.folder == tmp_path / "one"
    copied(folder, tmp_path, "two")
    with pytest.raises(SettingsError, match="There are 2 runs in "):
        details(tmp_path)


def test_hostile_names_are_printed_harmlessly(tmp_path: Path) -> None:
    path = construct(tmp_path / HOSTILE, method=HOSTILE, dataset=HOSTILE, model=HOSTILE)
    run = details(path)
    told = words(run)
    assert all(line.isprintable() for line in told.split("\n"))
    assert "\\x1b[2J[red]" in told
    assert run.defaults == {}


def test_to_look_at_a_folder_imports_nothing_that_it_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hostile_code.py").write_text("raise SystemExit('it has been imported')")
    monkeypatch.syspath_prepend(tmp_path)
    name = "hostile_code:thing"
    one = construct(tmp_path / "one", method=name, dataset=name, model=name)
    two = construct(tmp_path / "two")
    for path in (one, two):
        file = path / "experiment.toml"
        file.write_text(file.read_text().replace("swap-all", "hostile_code:thing"))
    assert len(runs(tmp_path, where=["shift=hostile_code:thing"], sort="algorithm")) == 2
    difference([details(one), details(two)])
    assert details(one).defaults == {}
    assert "hostile_code" not in sys.modules


def test_a_summary_of_other_kinds_of_values_is_damage_or_not_relied_on(
    folder: Path, tmp_path: Path
) -> None:
    path = copied(folder, tmp_path)
    summary = json.loads((path / "summary.json").read_text())
    refused: list[str] = []
    for name in summary:
        for strange in STRANGE:
            (path / "summary.json").write_text(json.dumps({**summary, name: strange}))
            try:
                assert "accuracy best" in words(details(path))
            except SettingsError as error:
                refused.append(str(error))
    assert refused
    assert all("cannot be shown" in sentence for sentence in refused)


def test_plain_letters_where_a_terminal_has_no_others(folder: Path) -> None:
    assert words(details(folder), ascii_only=True).isascii()


def test_runs_that_are_the_same_differ_in_nothing(folder: Path, tmp_path: Path) -> None:
    other = copied(folder, tmp_path)
    found = difference([details(folder), details(other)])
    assert (found.settings, found.versions) == ({}, {})
    assert found.same == details(folder).row.settings
    assert (found.curves[0].compared, found.curves[0].first) == (ROUNDS, None)
    assert all(one == two for one, two in found.figures.values())


def test_what_differs_stands_side_by_side(
    folder: Path, stopped: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = made(tmp_path_factory, "fedavg", seed=1)
    found = difference([details(folder), details(other), details(stopped)])
    assert found.settings["algorithm.name"] == ("flexcfl", "fedavg", "flexcfl")
    assert found.settings["run.seed"] == (0, 1, 0)
    assert found.settings["algorithm.groups"] == (2, None, 2)
    assert found.figures["done"] == (ROUNDS, ROUNDS, 3)
    assert not found.settings.keys() & found.same.keys()
    assert found.curves[1].compared == 3
    assert found.curves[1].first is None  # the same run, as far as it went
    assert json.loads(json.dumps(found.content(), allow_nan=False))["folders"] == [
        *(str(folder), str(other), str(stopped)),
    ]


@pytest.mark.parametrize("number", range(1, ROUNDS + 1))
def test_the_first_round_that_differs_is_found(number: int, folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, path := tmp_path / "other")
    head, *lines = (path / "rounds.csv").read_text().splitlines()
    cells = lines[number - 1].split(",")
    cells[1] = repr(float(cells[1]) / 2 + 1e-16) if cells[1] else "0.123"
    lines[number - 1] = ",".join(cells)
    (path / "rounds.csv").write_text("\n".join([head, *lines, ""]))
    assert difference([details(folder), details(path)]).curves[0].first == number


def test_versions_that_differ_are_told(folder: Path, tmp_path: Path) -> None:
    path = copied(folder, tmp_path)
    summary = json.loads((path / "summary.json").read_text())
    own = summary["versions"]["numpy"]
    summary["versions"]["numpy"] = "0.9"
    (path / "summary.json").write_text(json.dumps(summary))
    assert difference([details(folder), details(path)]).versions == {"numpy": (own, "0.9")}


def test_one_run_alone_differs_from_nothing(folder: Path) -> None:
    with pytest.raises(SettingsError, match="needs two or more runs"):
        difference([details(folder)])


@given(st.lists(st.floats(0, 1) | st.just(float("nan")), max_size=200), st.integers(1, 50))
def test_a_sparkline_is_never_wider_than_it_may_be_and_has_its_extremes(
    values: list[float], width: int
) -> None:
    line = sparkline(np.array(values, dtype=np.float64), width)
    assert len(line) <= min(width, len(values))
    assert set(line) <= {*BLOCKS, " "}
    assert not line.strip() or BLOCKS[-1] in line
    plain = sparkline(np.array(values, dtype=np.float64), width, ascii_only=True)
    assert plain.isascii()
    assert plain == line.translate(str.maketrans(BLOCKS, PLAIN))


def test_a_sparkline_of_what_rises_rises() -> None:
    assert sparkline(np.linspace(0, 1, 8), 8) == BLOCKS
    assert sparkline(np.linspace(0, 1, 80), 8) == BLOCKS
    assert sparkline(np.array([0.5, 0.5]), 8) == BLOCKS[-1] * 2
    assert sparkline(np.array([]), 8) == ""
