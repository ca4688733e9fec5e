"""How far a run has come, seen from its folder, and what is taken away there."""

from pathlib import Path

import pytest

import flexcfl
from flexcfl.flower.local.run_progress import RunProgress
from flexcfl.record.run_folders import make_run_folder


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    flexcfl.run(rounds=2, cohort=2, epochs=1, set={"data.clients": 10}, out=folder)
    return folder


def test_of_a_finished_run_there_is_nothing_to_go_on_with(finished: Path) -> None:
    progress = RunProgress(finished)
    assert progress.has_rounds
    assert not progress.can_resume  # of which there would be a checkpoint


def test_rounds_are_seen_as_they_are_written_each_once(tmp_path: Path, finished: Path) -> None:
    head, first, second = (finished / "rounds.csv").read_bytes().splitlines(keepends=True)
    table, progress = tmp_path / "rounds.csv", RunProgress(tmp_path)

    def seen() -> list[int]:
        return [each.round for each in progress.new_rounds()]

    assert seen() == []
    table.write_bytes(head + first[:10])
    assert seen() == []
    table.write_bytes(head + first)
    assert seen() == [1]
    table.write_bytes(head + first + second[:-1])
    assert seen() == []
    table.write_bytes(head)  # after a crash, from the checkpoint before
    assert seen() == []
    table.write_bytes(head + first)
    assert seen() == []
    table.write_bytes(head + first + second)
    assert seen() == [2]


def test_rounds_that_were_done_before_are_left_out(finished: Path) -> None:
    progress = RunProgress(finished)
    progress.skip(1)
    assert [each.round for each in progress.new_rounds()] == [2]


def test_a_run_that_was_killed_before_its_beginning_makes_room(tmp_path: Path) -> None:
    path, folders = make_run_folder(tmp_path / "run", tmp_path)
    for name in ("logs", "nodes", "checkpoints"):
        (path / name).mkdir()
    (path / "nodes" / "memory").touch()
    (path / "experiment.toml").touch()
    (path / ".lock").touch()
    progress = RunProgress(path)
    progress.clean_up()
    assert {each.name for each in path.iterdir()} == {"logs"}
    make_run_folder(path, tmp_path, ["logs"])  # for a run can begin here
    progress.discard(folders)
    assert not path.exists()


def test_rounds_are_never_taken_away(tmp_path: Path, finished: Path) -> None:
    before = (finished / "rounds.csv").read_bytes()
    (finished / "summary.json").rename(tmp_path / "summary.json")
    RunProgress(finished).clean_up()
    (tmp_path / "summary.json").rename(finished / "summary.json")
    assert (finished / "rounds.csv").read_bytes() == before


def test_what_others_put_into_the_folder_stays(tmp_path: Path) -> None:
    path, folders = make_run_folder(tmp_path / "run", tmp_path)
    (path / "notes.txt").touch()
    RunProgress(path).discard(folders)
    assert {each.name for each in path.iterdir()} == {"notes.txt"}
