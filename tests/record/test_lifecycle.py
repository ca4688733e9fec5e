"""The run folder: claimed while free, given back if nothing came of it."""

import os
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from flexcfl.errors import SettingsError
from flexcfl.experiment.experiment import Experiment
from flexcfl.experiment.layers import SettingsLayer
from flexcfl.experiment.resolve import resolve
from flexcfl.record import run_folders
from flexcfl.record.lifecycle import claim_folder
from flexcfl.record.run_folders import check_free

EXPERIMENT = resolve([]).experiment


class TroubleError(Exception):
    pass


def fail(path: Path, *files: str) -> None:
    """Claim a folder, make some files in it, and come to grief."""
    with claim_folder(path, EXPERIMENT):
        for file in files:
            (path / file).touch()
        raise TroubleError


def named(model: str) -> Experiment:
    return resolve([SettingsLayer("given", {"model": {"name": model}})]).experiment


def test_by_default_each_run_gets_a_new_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for number in (1, 2):
        with claim_folder(None, EXPERIMENT) as path:
            assert path == Path("runs") / f"flexcfl-digits-mclr-seed0-{number}"
            assert path.is_dir()


@pytest.mark.parametrize(
    "model", ["package.module:factory", "../../etc", "/root", "a b\n", "ü" * 300, 'a<>:"/\\|?*. ']
)
def test_custom_names_cannot_leave_the_folder(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with claim_folder(None, named(model)) as path:
        assert path.resolve().parent == tmp_path / "runs"
        assert re.fullmatch(r"[A-Za-z0-9_.-]{1,110}", path.name)
        assert path.name[-1] not in ". "


def test_no_name_is_that_of_a_device_or_of_another_in_other_letters() -> None:
    for device in ("con", "CON.x", "nul", "com1.a:b", "LPT9"):
        assert run_folders.safe_name([device]).startswith("_")
    assert run_folders.safe_name(["console.model"]) == "console.model"
    names = ["a:b", "a-b", "A:B", "a-b-2", "x" * 200, "x" * 201]
    found = run_folders.distinct_names(names)
    assert list(found) == names
    assert len({each.lower() for each in found.values()}) == len(names)


def test_an_empty_folder_or_one_not_there_yet_is_taken(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "a" / "b"):
        with claim_folder(path, EXPERIMENT) as taken:
            assert taken == path
            assert path.is_dir()


def test_what_is_there_already_is_never_touched(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for path in (tmp_path, tmp_path / "file"):
        with pytest.raises(SettingsError, match="exists already"):
            check_free(path)
        with pytest.raises(SettingsError, match="exists already"), claim_folder(path, EXPERIMENT):
            pass
    assert (tmp_path / "file").read_text() == "mine"


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    sentence = r"cannot be used .*choose another with --out\.$"
    with pytest.raises(SettingsError, match=sentence):
        fail(tmp_path / "file" / "run")


@pytest.mark.parametrize("blocked", ["file", "dangling"])
def test_something_in_the_place_of_runs_is_one_sentence(
    blocked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if blocked == "file":
        Path("runs").touch()
    else:
        Path("runs").symlink_to("nowhere")
    with (
        pytest.raises(SettingsError, match=r"'runs' cannot be used \(File exists: 'runs'\)"),
        claim_folder(None, EXPERIMENT),
    ):
        pass


def test_of_two_that_found_a_folder_empty_only_one_gets_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Both have looked before either claims: looking shows each of them an empty folder.
    monkeypatch.setattr(run_folders, "check_free", lambda path, but: None)
    out = tmp_path / "run"
    with claim_folder(out, EXPERIMENT):
        (out / "experiment.toml").write_text("the winner's")
        with pytest.raises(SettingsError, match="exists already"), claim_folder(out, EXPERIMENT):
            pytest.fail("The folder was claimed twice.")
        assert (out / "experiment.toml").read_text() == "the winner's"


def test_many_claims_at_the_same_moment(tmp_path: Path) -> None:
    out, start = tmp_path / "a" / "run", Barrier(8)

    def attempt(_: int) -> bool:
        start.wait()
        try:
            with claim_folder(out, EXPERIMENT):
                (out / "rounds.csv").touch()
                return True
        except SettingsError:
            return False

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(attempt, range(8))) == 1
    assert {file.name for file in out.iterdir()} == {"experiment.toml", "rounds.csv"}


def test_a_folder_that_may_not_be_written_to_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir(mode=0o500)
    if os.access(tmp_path / "run", os.W_OK):
        pytest.skip("this user may write anywhere")
    with pytest.raises(SettingsError, match="cannot be used"):
        fail(tmp_path / "run")
    assert list((tmp_path / "run").iterdir()) == []


def test_a_run_without_a_round_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(TroubleError):
        fail(tmp_path / "a" / "b", "experiment.toml", "labels.csv")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_was_there_stays_and_so_does_what_others_put_in_it(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for path, files in ((tmp_path / "empty", []), (tmp_path / "mine", ["notes.txt"])):
        with pytest.raises(TroubleError):
            fail(path, *files)
        assert [file.name for file in path.iterdir()] == files


def test_a_run_with_a_round_is_kept(tmp_path: Path) -> None:
    with pytest.raises(TroubleError):
        fail(tmp_path / "run", "experiment.toml", "rounds.csv")
    assert len(list((tmp_path / "run").iterdir())) == 2
