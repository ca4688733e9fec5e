"""The folder of a comparison: claimed, numbered, given back."""

from pathlib import Path

import pytest

from flexcfl.comparison.folder import claimed, finished
from flexcfl.comparison.plan import planned
from flexcfl.errors import SettingsError
from flexcfl.runner.experiment import Experiment
from flexcfl.runner.layers import spoken


@pytest.fixture
def experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Experiment:
    monkeypatch.chdir(tmp_path)
    return planned(["fedavg"], 1, spoken({}, {}))[0].experiment


def test_by_default_there_is_a_new_one_each_time(experiment: Experiment) -> None:
    for number in (1, 2):
        with claimed(None, experiment) as path:
            assert path == Path("comparisons", f"digits-mclr-{number}")
    assert path.is_dir()


@pytest.mark.parametrize("out", [None, Path("a", "b")])
def test_if_nothing_came_of_it_nothing_is_left(
    out: Path | None, experiment: Experiment, tmp_path: Path
) -> None:
    with pytest.raises(KeyboardInterrupt), claimed(out, experiment):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_stays(experiment: Experiment, tmp_path: Path) -> None:
    def fail_with_one_of_two_runs_complete(path: Path) -> None:
        (path / "ifca-seed0").mkdir()
        (path / "fedavg-seed0").mkdir()
        (path / "fedavg-seed0" / "summary.json").touch()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), claimed(Path("a"), experiment) as path:
        fail_with_one_of_two_runs_complete(path)
    assert finished(tmp_path / "a") == 1


def test_a_folder_that_is_taken_or_cannot_be_made_is_refused(
    experiment: Experiment, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    for out, sentence in (("file", "exists already"), ("file/x", "cannot be used")):
        with pytest.raises(SettingsError, match=sentence), claimed(Path(out), experiment):
            pass
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
