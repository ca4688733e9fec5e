"""Run folders read back: finished or not, and refused in one sentence if damaged."""

import json
import os
import tracemalloc
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexcfl.errors import SettingsError
from flexcfl.experiment.objects import NO_OBJECTS
from flexcfl.record.reading import FILES, find_runs, read
from flexcfl.record.tables import TABLES
from flexcfl.report.history import details, runs
from flexcfl.report.page import Report, html
from tests.record.checkpoints.interrupted import resumed
from tests.report.runs import CLIENTS, ROUNDS, broken_off, copied, made

NEVER_THERE = {"missing.csv", "messages.csv"}  # if all clients answer, and without a network


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory)


@pytest.fixture(scope="session")
def spare(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of a run that a test may change."""
    return copied(folder, tmp_path_factory.mktemp("spare"))


def everything(path: Path) -> None:
    """Do all that is done with a run."""
    report = Report.of([path])
    html(report, live=True)
    for name in report.chapters():
        json.dumps(report.chapter(name), allow_nan=False)
    (row,) = runs(path)
    shown = details(path)
    assert shown.row.figures.keys() == row.figures.keys()
    json.dumps(shown.content(), allow_nan=False)


def refusal(path: Path) -> str:
    with pytest.raises(SettingsError) as caught:
        everything(path)
    sentence = str(caught.value)
    assert len(sentence) < 600
    assert sentence.endswith((".", "right file?"))
    assert sentence.isprintable()
    return sentence


def test_a_finished_run(folder: Path) -> None:
    run = read(folder)
    assert run.summary == json.loads((folder / "summary.json").read_text())
    assert run.text == (folder / "experiment.toml").read_text()
    assert (run.method, run.seed, run.total, run.done) == ("flexcfl", 0, ROUNDS, ROUNDS)
    assert (run.clients, run.group_count) == (CLIENTS, 2)
    assert {name for name in FILES if not (folder / name).exists()} == NEVER_THERE


def test_a_run_that_was_broken_off_and_one_that_was_resumed(
    folder: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    stopped = broken_off(tmp_path_factory, 3)
    assert (read(stopped).summary, read(stopped).done) == (None, 3)
    assert not Report.of([stopped]).finished
    again = copied(stopped, tmp_path)
    resumed(again, NO_OBJECTS)
    report, whole = Report.of([again]), Report.of([folder])
    assert report.finished
    assert [report.chapter(name) for name in report.chapters()] == [
        whole.chapter(name) for name in whole.chapters()
    ]


@pytest.mark.parametrize("name", sorted(set(TABLES) - NEVER_THERE))
def test_a_table_cut_at_any_byte_is_shown_as_far_as_its_lines_are_whole(
    name: str, spare: Path
) -> None:
    content = (spare / name).read_bytes()

    @settings(max_examples=25)
    @given(st.integers(0, len(content) - 1))
    def check(length: int) -> None:
        (spare / name).write_bytes(content[:length])
        everything(spare)
        if name == "rounds.csv":
            whole = content[:length].count(b"\n")
            assert read(spare).done == max(whole - 1, 0)

    try:
        check()
    finally:
        (spare / name).write_bytes(content)


@settings(max_examples=30)
@given(data=st.data())
def test_all_tables_cut_anywhere_at_once(data: st.DataObject, spare: Path) -> None:
    contents = {name: (spare / name).read_bytes() for name in TABLES if (spare / name).exists()}
    try:
        for name, content in contents.items():
            length = data.draw(st.integers(0, len(content)), name)
            (spare / name).write_bytes(content[:length])
        everything(spare)
    finally:
        for name, content in contents.items():
            (spare / name).write_bytes(content)


GARBAGE = {
    "bytes": b"\xff\xfe\x00garbage\n",
    "words": b"this is no table\nat all\n",
    "cells": b"a,b\n1\n1,2,3\n",
    "blank": b"\n\n\n",
    "zero": b"\0" * 100 + b"\n",
    "nested": b"[" * 100_000 + b"\n",
    "long": b"x" * 300_000 + b"\n",
    "strange": b"client,client,round,x0\n1e999,nan,-1,inf\n",
}


@pytest.mark.parametrize("kind", GARBAGE)
@pytest.mark.parametrize("name", sorted(set(FILES)))
def test_garbage_in_the_place_of_a_file_is_reported_in_a_sentence(
    name: str, kind: str, folder: Path, tmp_path: Path
) -> None:
    path = copied(folder, tmp_path)
    (path / name).write_bytes(GARBAGE[kind])
    assert "experiment.toml" in (told := refusal(path)) or "cannot be shown" in told


@pytest.mark.parametrize("name", sorted(set(FILES) - {"experiment.toml"}))
def test_a_pipe_a_link_or_a_folder_in_the_place_of_a_file_is_reported(
    name: str, folder: Path, tmp_path: Path
) -> None:
    path = copied(folder, tmp_path)
    (path / name).unlink(missing_ok=True)
    os.mkfifo(path / name)
    refusal(path)
    (path / name).unlink()
    (path / name).symlink_to(folder / name)
    refusal(path)
    (path / name).unlink()
    (path / name).mkdir()
    refusal(path)


def test_settings_are_not_read_through_a_link_nor_from_a_pipe(folder: Path, tmp_path: Path) -> None:
    path = copied(folder, tmp_path)
    settings_file = path / "experiment.toml"
    settings_file.unlink()
    settings_file.symlink_to(folder / "experiment.toml")
    assert "cannot be shown" in refusal(path)
    settings_file.unlink()
    settings_file.symlink_to(tmp_path / "nowhere")
    assert "There is no run in" in refusal(path)
    settings_file.unlink()
    os.mkfifo(settings_file)
    assert "There is no run in" in refusal(path)


HOSTILE = {
    "membership.csv": ["0,1000000000000,0", "0,-1,0", "-1,0,0", "0,0,1000000000000", "0,0,-2"],
    "groups.csv": ["1,1000000000000,0.5,,1,", "1,-1,0.5,,1,", "1,0,1e300,,1,", "1,0,-1,,1,"],
    "shifts.csv": ["0,1", "-1,1", "1,999999999", "1,0-9999999999", "1,x", "1,0-999999999"],
    "labels.csv": ["0,1000000000000,1,1", "-1,0,1,1", "1000000000000,0,1,1", "0,0.5,1,1"],
    "founders.csv": ["1000000000000,0,1,1", "-1,0,1,1", "0,1000000000000,1,1", "0,,1,1"],
    "clients.csv": ["1000000000000,0,0,", "1e300,0,0,", ",,,"],
}


@pytest.mark.parametrize(
    ("name", "line"), [(name, line) for name, lines in HOSTILE.items() for line in lines]
)
def test_numbers_out_of_all_proportion_are_reported_before_room_is_made_for_them(
    name: str, line: str, folder: Path, tmp_path: Path
) -> None:
    path = copied(folder, tmp_path)
    with (path / name).open("a") as file:
        file.write(f"{line}\n")
    tracemalloc.start()
    try:
        assert "cannot be shown" in refusal(path)
        assert tracemalloc.get_traced_memory()[1] < 2**26
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("column", ["round", "accuracy", "down_bytes", "loss", "migrated"])
@pytest.mark.parametrize("value", ["-1e301", "9007199254740993000", "nan", "7" * 30])
def test_figures_that_cannot_be_are_reported(
    column: str, value: str, folder: Path, tmp_path: Path
) -> None:
    path = copied(folder, tmp_path)
    head, *lines = (path / "rounds.csv").read_text().splitlines()
    cells = lines[-1].split(",")
    cells[head.split(",").index(column)] = value
    (path / "rounds.csv").write_text("\n".join([head, *lines[:-1], ",".join(cells), ""]))
    if (column, value) in [("loss", "9007199254740993000"), ("loss", "7" * 30)]:
        everything(path)  # a failed run has such values
    else:
        assert "cannot be shown" in refusal(path)


def test_a_file_beyond_all_measure_is_not_read(folder: Path, tmp_path: Path) -> None:
    path = copied(folder, tmp_path)
    with (path / "membership.csv").open("r+b") as file:
        file.truncate(2**40)  # which takes no room
    assert "membership.csv of 1,099,511,627,776 bytes" in refusal(path)


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ('name = "digits"', "name = 5", "no [data] name"),
        ('name = "flexcfl"', "", "no [algorithm] name"),
        ("rounds = 6", 'rounds = "6"', "no [run] rounds"),
        ("rounds = 6", "rounds = true", "no [run] rounds"),
        ("cohort = 5", "", "no [run] cohort"),
        ("[local]", "[locals]", "no [local] training"),
        ('"swap-all"', "1", "no [shift] name"),
        ("[data]", "stray = 1\n[data]", "outside of all tables"),
        ("rounds = 6", f"rounds = {10**30}", "more than 64 bits"),
        ("cohort = 5", f"cohort = {'[' * 5000}", "is not TOML"),
        ("cohort = 5", f"{'x.' * 300}y = 1", "dots"),
        ("cohort = 5", f"# {'x' * 70_000}", "longer than"),
    ],
)
def test_settings_that_are_none_are_reported(
    old: str, new: str, word: str, folder: Path, tmp_path: Path
) -> None:
    path = copied(folder, tmp_path)
    text = (path / "experiment.toml").read_text()
    assert old in text
    (path / "experiment.toml").write_text(text.replace(old, new, 1))
    assert word in refusal(path)


@settings(max_examples=60)
@given(data=st.data())
def test_any_byte_of_any_file_changed_is_shown_or_refused(data: st.DataObject, spare: Path) -> None:
    name = data.draw(st.sampled_from([name for name in FILES if (spare / name).exists()]))
    content = (spare / name).read_bytes()
    place = data.draw(st.integers(0, len(content) - 1))
    byte = data.draw(st.sampled_from(b'0159,-.e"\n\r\0\xff[]{}='))
    (spare / name).write_bytes(content[:place] + bytes([byte]) + content[place + 1 :])
    try:
        with suppress(SettingsError):  # and nothing else
            everything(spare)
    finally:
        (spare / name).write_bytes(content)


@pytest.mark.parametrize("summary", [{}, {"versions": {"a": "1"}, "parameters": 5}])
def test_a_summary_that_says_little_is_taken_as_it_is(
    summary: dict[str, Any], folder: Path, tmp_path: Path
) -> None:
    path = copied(folder, tmp_path)
    (path / "summary.json").write_text(json.dumps(summary))
    everything(path)
    assert read(path).summary == summary


@pytest.mark.parametrize(
    "summary", [{"versions": 5}, {"parameters": "x"}, {"versions": {"a": [[1]]}}, {"accuracy": {}}]
)
def test_a_summary_of_other_kinds_of_values_is_reported(
    summary: dict[str, Any], folder: Path, tmp_path: Path
) -> None:
    path = copied(folder, tmp_path)
    (path / "summary.json").write_text(json.dumps(summary))
    assert f"another version ({min(summary)} in summary.json)" in refusal(path)


def test_a_run_over_a_network_knows_neither_labels_nor_who_changed(
    folder: Path, tmp_path: Path
) -> None:
    path = copied(folder, tmp_path)
    for name in ("labels.csv", "shifts.csv"):
        (path / name).unlink()
    head, *lines = (path / "rounds.csv").read_text().splitlines()
    place = head.split(",").index("shifted")
    rows = [line.split(",") for line in lines]
    unknown = [",".join([*row[:place], "", *row[place + 1 :]]) for row in rows]
    (path / "rounds.csv").write_text("\n".join([head, *unknown, ""]))
    everything(path)
    charts = {each["name"]: each for each in Report.of([path]).chapter("0-0")}
    assert "labels" not in charts
    assert [line["name"] for line in charts["changes"]["data"]] == [
        "drift detected",
        "moved to another group",
    ]
    assert len(charts["moves"]["data"]) == 1


def test_runs_are_found_as_deep_as_those_of_a_reproduction(folder: Path, tmp_path: Path) -> None:
    places = ["run", "comparison/fedavg-seed0", "runs/digits-mclr/fedavg-seed0"]
    for place in [*places, "too/far/down/run"]:
        copied(folder, tmp_path / "all", place)
    assert find_runs([tmp_path / "all"]) == [tmp_path / "all" / place for place in places]


def test_a_run_that_is_named_twice_or_by_a_link_is_one(folder: Path, tmp_path: Path) -> None:
    path = copied(folder, tmp_path / "all")
    (tmp_path / "all" / "the-link").symlink_to(path)
    roundabout = tmp_path / "all" / ".." / "all"
    assert find_runs([tmp_path / "all", path, roundabout]) == [path]


def test_folders_without_a_run_are_reported(folder: Path, tmp_path: Path) -> None:
    assert "is not a folder" in refusal(tmp_path / "nowhere")
    assert "is not a folder" in refusal(folder / "rounds.csv")
    assert "There is no run in" in refusal(tmp_path)
    (tmp_path / "claimed").mkdir()
    (tmp_path / "claimed" / "experiment.toml").touch()
    assert "There is no run in" in refusal(tmp_path / "claimed")
    copied(folder, tmp_path)
    assert find_runs([tmp_path]) == [tmp_path / "run"]


def test_a_run_that_has_only_begun_is_there_without_charts(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.mkdir()
    for name in ("experiment.toml", "labels.csv"):
        (path / name).write_bytes((folder / name).read_bytes())
    everything(path)
    report = Report.of([path])
    assert [report.chapter(name) for name in report.chapters()] == [[], []]
    assert report.runs[0].clients == CLIENTS


def test_files_of_another_version_are_reported(folder: Path, tmp_path: Path) -> None:
    path = copied(folder, tmp_path)
    text = (path / "rounds.csv").read_text()
    (path / "rounds.csv").write_text(text.replace("placed_again", "moved_again"))
    assert "damaged or of another version (rounds.csv)" in refusal(path)
