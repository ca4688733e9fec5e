"""Checkpoints during a run: when they are made, what they hold, how a run stops."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flexcfl.errors import FlexcflError, TrainingError
from flexcfl.record.folder import RunFolder
from flexcfl.record.tables import Round
from flexcfl.runner.execute import execute
from flexcfl.runner.stopping import Stop, StoppedError
from tests.record.checkpoints.interrupted import CrashError, crashed, prepared, resumed, stopped

NEVER: dict[str, Any] = {"run__checkpoint_rounds": 0, "run__checkpoint_seconds": 0}


def rounds_of(folder: Path) -> list[int]:
    names = (folder / "checkpoints").glob("round-*.json")
    return sorted(int(path.stem.removeprefix("round-")) for path in names)


def seen_by(folder: Path, **settings: Any) -> list[list[int]]:
    """Return which checkpoints there were when each round was over, given time to write them."""
    seen: list[list[int]] = []

    def view(rounds: Iterator[Round]) -> Iterator[Round]:
        for done in rounds:
            seen.append(rounds_of(folder))
            yield done

    folder.mkdir()
    execute(prepared(**settings), view, RunFolder(folder))
    return seen


def test_there_is_one_before_the_first_round(tmp_path: Path) -> None:
    assert seen_by(tmp_path / "run", **NEVER) == [[0]] * 6


def test_one_is_made_after_the_rounds_that_are_asked_for(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"run__checkpoint_rounds": 2, "run__checkpoint_share": 1}
    for last, expected in {1: [0], 2: [0, 2], 3: [0, 2]}.items():
        folder = tmp_path / str(last)
        crashed(prepared(**settings), folder, last)
        assert rounds_of(folder) == expected


def test_by_time_after_every_round_where_seconds_are_few(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    crashed(prepared(run__checkpoint_rounds=0, run__checkpoint_seconds=1e-9), folder, 5)
    found = rounds_of(folder)
    assert len(found) == 2
    assert 0 < found[-1] <= 5


@pytest.mark.parametrize("asked", [signal.SIGINT, signal.SIGTERM])
def test_who_asks_to_stop_gets_a_checkpoint_and_the_command(asked: int, tmp_path: Path) -> None:
    folder, stop = tmp_path / "my run", Stop(asked)
    folder.mkdir()
    with pytest.raises(StoppedError, match=r"Stopped after round 1 of 6\. To go on: ") as caught:
        execute(prepared(**NEVER), iter, RunFolder(folder), stop)
    assert f"flexcfl resume '{folder}'" in str(caught.value)
    assert caught.value.code == 128 + asked
    assert isinstance(caught.value, FlexcflError)
    assert rounds_of(folder) == [0, 1]
    assert not (folder / "summary.json").exists()


def test_in_the_last_round_there_is_nothing_to_stop(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with pytest.raises(AssertionError, match="not broken off"):
        stopped(prepared(), folder, 6)
    assert json.loads((folder / "summary.json").read_text())["rounds"] == 6
    assert not (folder / "checkpoints").exists()


def test_a_checkpoint_says_how_far_the_tables_went(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    stopped(prepared(), folder, 2)
    text = (folder / "checkpoints" / "round-2.json").read_text()
    about = json.loads(text)["checkpoint"]["content"]["about"]
    lengths = {each["name"]: each["extent"]["length"] for each in about["tables"]}
    grown = {path for path in folder.glob("*.csv") if path.name != "labels.csv"}
    assert lengths == {path.name: path.stat().st_size for path in grown}


def test_what_was_written_after_the_checkpoint_is_taken_back(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    crashed(prepared(**NEVER), folder, 4)
    assert len((folder / "rounds.csv").read_text().splitlines()) == 5
    with (folder / "rounds.csv").open("a") as file:
        file.write("5,half a li")
    resumed(folder)
    lines = (folder / "rounds.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines] == ["round", *"123456"]


def test_seconds_go_on_from_where_they_stopped(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    stopped(prepared(), folder, 3)
    path = folder / "checkpoints" / "round-3.json"
    before = json.loads(path.read_text())["checkpoint"]["content"]["about"]["seconds"]
    assert resumed(folder).summary["seconds"] >= round(before, 3) > 0


def test_a_checkpoint_that_cannot_be_written_ends_the_run_in_a_sentence(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "checkpoints").write_text("in its place")
    with pytest.raises(TrainingError, match=r"checkpoints' cannot be written \(Not a directory\)"):
        execute(prepared(), iter, RunFolder(folder))


def test_an_error_of_the_run_is_reported_before_one_of_its_checkpoint(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()

    def view(rounds: Iterator[Round]) -> Iterator[Round]:
        for done in rounds:
            (folder / "checkpoints").rename(folder / "away")
            (folder / "checkpoints").touch()
            yield done
            raise CrashError

    with pytest.raises(CrashError):
        execute(
            prepared(run__checkpoint_rounds=1, run__checkpoint_share=1), view, RunFolder(folder)
        )
