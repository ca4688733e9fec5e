"""What a run writes to its folder."""

import csv
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flexcfl.errors import DiskError
from flexcfl.protocol import Serving
from flexcfl.record.folder import RunFolder
from flexcfl.record.tables import (
    TABLES,
    GroupFigures,
    LedgerEntry,
    Membership,
    Messages,
    Missing,
    Round,
    RoundFigures,
    Shifted,
    Timing,
)

SUMMED: Any = {"accuracy": None}
HEADER = (
    "round,accuracy,honest_accuracy,newcomers_accuracy,auxiliary_accuracy,tested,loss,discrepancy,"
    "cohort,trained,placed,shifted,detected,placed_again,migrated,rejected_late,rejected_stale,"
    "rejected_invalid,rejected_shape,rejected_not_finite,rejected_norm,rejected_founding,clipped,"
    "transfers,down_bytes,up_bytes"
)


def rounds(*accuracies: float | None) -> Iterator[Round]:
    for number, accuracy in enumerate(accuracies, start=1):
        counts = 20, 19, 80, 4, 3, 2, 1, 0, 1, 2, 3, 4, 5, 6, 7, 40
        figures = RoundFigures(number, accuracy, None, None, 0.25, 80, 0.1, None, *counts, 100, 200)
        groups = tuple(GroupFigures(number, group, accuracy, None, 40, 0.5) for group in range(2))
        serving = Serving(np.zeros((2, 1), np.float32), np.zeros(1, np.int64))
        costs = (
            LedgerEntry(number, "training", 40, 100, 200),
            LedgerEntry(number, "drift", 0, 0, 80),
        )
        members = (Membership(number, 7, number), Membership(number, 8, None))
        timing = Timing(number, 0.5, 0.25)
        missing = (Missing(number, "train", "0-2 7"),)
        messages = (Messages(number, "train", 4, 100, 200, 110, 210),)
        shifts = (Shifted(number, "0-9 12"),)
        rows = (figures,), groups, costs, members, (timing,), missing, messages, shifts
        yield Round(dict(zip(TABLES, rows, strict=True)), 100, serving, None)


def test_a_line_for_each_round_before_it_is_handed_on(tmp_path: Path) -> None:
    for number, _ in enumerate(RunFolder(tmp_path).record(rounds(1 / 3, None)), start=1):
        lines = (tmp_path / "rounds.csv").read_text().splitlines()
        assert lines[0] == HEADER
        assert len(lines) == number + 1
    assert lines[1:] == [
        "1,0.3333333333333333,,,0.25,80,0.1,,20,19,80,4,3,2,1,0,1,2,3,4,5,6,7,40,100,200",
        "2,,,,0.25,80,0.1,,20,19,80,4,3,2,1,0,1,2,3,4,5,6,7,40,100,200",
    ]
    assert (tmp_path / "groups.csv").read_text().splitlines() == [
        "round,group,accuracy,loss,clients,discrepancy",
        *("1,0,0.3333333333333333,,40,0.5", "1,1,0.3333333333333333,,40,0.5"),
        *("2,0,,,40,0.5", "2,1,,,40,0.5"),
    ]
    assert (tmp_path / "ledger.csv").read_text().splitlines() == [
        "round,purpose,transfers,down_bytes,up_bytes",
        *("1,training,40,100,200", "1,drift,0,0,80", "2,training,40,100,200", "2,drift,0,0,80"),
    ]
    members = (tmp_path / "membership.csv").read_text()
    assert members == "round,client,group\n1,7,1\n1,8,\n2,7,2\n2,8,\n"
    shifts = (tmp_path / "shifts.csv").read_text()
    assert shifts == "round,clients\n1,0-9 12\n2,0-9 12\n"
    timings = (tmp_path / "timings.csv").read_text()
    assert timings == "round,training,evaluation\n1,0.5,0.25\n2,0.5,0.25\n"


def test_numbers_can_be_read_back_exactly(tmp_path: Path) -> None:
    values = np.random.default_rng(0).random(20).tolist()
    list(RunFolder(tmp_path).record(rounds(*values)))
    with (tmp_path / "rounds.csv").open() as file:
        assert [float(line["accuracy"]) for line in csv.DictReader(file)] == values


def test_the_end_of_a_run_leaves_whole_files_only(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.begin("[run]\n", [("labels.csv", b"three")])
    folder.finish([("clients.csv", b"one"), ("models/a.safetensors", b"two")], SUMMED)
    files = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert files == {
        "experiment.toml",
        "labels.csv",
        "summary.json",
        "clients.csv",
        "models/a.safetensors",
    }
    assert json.loads((tmp_path / "summary.json").read_text()) == {"accuracy": None}
    assert (tmp_path / "models" / "a.safetensors").read_bytes() == b"two"


def test_settings_are_written_once_all_is_there_that_a_run_begins_with(tmp_path: Path) -> None:
    (tmp_path / "experiment.toml").touch()
    (tmp_path / "labels.csv").mkdir()
    with pytest.raises(DiskError, match=r"labels\.csv' cannot be written"):
        RunFolder(tmp_path).begin("[run]\n", [("labels.csv", b"three")])
    assert (tmp_path / "experiment.toml").read_bytes() == b""


def test_a_folder_that_goes_away_is_one_sentence(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "gone")
    with pytest.raises(DiskError, match="cannot be written"):
        list(folder.record(rounds(0.5)))


def test_a_write_that_fails_leaves_no_part(tmp_path: Path) -> None:
    (tmp_path / "summary.json").mkdir()
    with pytest.raises(DiskError, match=r"summary\.json' cannot be written"):
        RunFolder(tmp_path).finish([], SUMMED)
    assert [path.name for path in tmp_path.iterdir()] == ["summary.json"]


def fills_up(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a file accept half of its data and then nothing more."""
    write, open_ = os.writev, os.open
    names: dict[int, str] = {}

    def opened(path: Any, *rest: Any) -> int:
        file = open_(path, *rest)
        names[file] = str(path)
        return file

    def full(file: int, parts: Any) -> int:
        if not names.get(file, "").endswith(name):
            return write(file, parts)
        write(file, [part[: len(part) // 2] for part in parts[:1]])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "open", opened)
    monkeypatch.setattr(os, "writev", full)


@pytest.mark.parametrize("name", TABLES)
def test_a_line_for_which_there_is_no_room_is_taken_back_from_all_tables(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RunFolder(tmp_path)
    list(folder.record(rounds(0.5, 0.6)))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert sorted(before) == sorted(TABLES)
    fills_up(name, monkeypatch)
    with pytest.raises(DiskError, match="No space left"):
        list(folder.record(rounds(0.7)))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_first_line_for_which_there_is_no_room_leaves_no_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fills_up("timings.csv", monkeypatch)
    with pytest.raises(DiskError, match="No space left"):
        list(RunFolder(tmp_path).record(rounds(0.7)))
    assert list(tmp_path.iterdir()) == []


def test_a_model_for_which_there_is_no_room_leaves_no_empty_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fills_up(".part", monkeypatch)
    with pytest.raises(DiskError, match="No space left"):
        RunFolder(tmp_path).finish([("models/group-0.safetensors", b"model")], SUMMED)
    assert list(tmp_path.iterdir()) == []
