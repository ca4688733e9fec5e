"""The folder of a comparison: claimed, numbered, given back, taken up again."""

from dataclasses import replace
from pathlib import Path

import pytest

from flexcfl.comparison.folder import (
    comparison_folder,
    count_finished,
    is_comparison,
    locked_folder,
    with_old_names,
)
from flexcfl.comparison.plan import PlannedRun
from flexcfl.comparison.spec import FILE, ComparisonSpec
from flexcfl.errors import SettingsError
from flexcfl.experiment.experiment import Experiment
from flexcfl.experiment.layers import options_layer
from flexcfl.runner.stopping import Stop, StoppedError

SPEC = ComparisonSpec.of(["fedavg", "ifca"], 1, options_layer({}, {}))


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def runs() -> tuple[PlannedRun, ...]:
    return SPEC.runs()


@pytest.fixture
def experiment(runs: tuple[PlannedRun, ...]) -> Experiment:
    return runs[0].experiment


def test_folders_of_earlier_versions_are_found_by_the_names_that_they_had(
    runs: tuple[PlannedRun, ...], tmp_path: Path
) -> None:
    one = replace(runs[0], algorithm="mine:entry", label="mine-entry")
    assert one.folder == "mine-entry-seed0"
    assert with_old_names(tmp_path, [one]) == (one,)
    (tmp_path / "mine:entry-seed0").mkdir()
    assert [run.folder for run in with_old_names(tmp_path, [one, runs[1]])] == [
        "mine:entry-seed0",
        "ifca-seed0",
    ]


def test_by_default_there_is_a_new_one_each_time(experiment: Experiment) -> None:
    for number in (1, 2):
        with locked_folder(None, experiment) as path:
            assert path == Path("comparisons", f"digits-mclr-{number}")
    assert path.is_dir()


@pytest.mark.parametrize("out", [None, Path("a", "b")])
def test_if_nothing_came_of_it_nothing_is_left(
    out: Path | None, runs: tuple[PlannedRun, ...], tmp_path: Path
) -> None:
    with pytest.raises(KeyboardInterrupt), comparison_folder(out, SPEC, runs, None):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_an_empty_folder_of_somebody_else_is_given_back_empty(runs: tuple[PlannedRun, ...]) -> None:
    Path("a").mkdir()
    with pytest.raises(KeyboardInterrupt), comparison_folder(Path("a"), SPEC, runs, None):
        raise KeyboardInterrupt
    assert list(Path("a").iterdir()) == []


def test_what_is_there_stays(runs: tuple[PlannedRun, ...]) -> None:
    def fail_with_one_of_two_runs_complete(path: Path) -> None:
        (path / "ifca-seed0").mkdir()
        (path / "fedavg-seed0").mkdir()
        (path / "fedavg-seed0" / "summary.json").touch()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), comparison_folder(Path("a"), SPEC, runs, None) as path:
        fail_with_one_of_two_runs_complete(path)
    assert count_finished(path, runs) == 1
    assert is_comparison(path)


def test_what_was_asked_to_stop_can_go_on_even_if_no_run_has_begun(
    runs: tuple[PlannedRun, ...],
) -> None:
    stop = Stop(15)
    with (
        pytest.raises(StoppedError) as caught,
        comparison_folder(Path("a b"), SPEC, runs, None) as path,
    ):
        raise StoppedError("with 0 of 2 runs complete", path, stop)
    told = "Stopped with 0 of 2 runs complete. To go on: flexcfl resume 'a b'"
    assert (str(caught.value), caught.value.code) == (told, 143)
    assert [each.name for each in path.iterdir()] == [FILE]


def test_the_same_goes_on_and_another_is_refused(runs: tuple[PlannedRun, ...]) -> None:
    with comparison_folder(Path("a"), SPEC, runs, None) as path:
        written = (path / FILE).stat().st_mtime_ns
    with comparison_folder(Path("a"), SPEC, runs, None):
        pass
    other = ComparisonSpec.of(["fedavg", "ifca"], 1, options_layer({"rounds": 7}, {}))
    with (
        pytest.raises(
            SettingsError, match=r"^'a' holds another comparison, where \[run\] rounds is"
        ),
        comparison_folder(Path("a"), other, other.runs(), None),
    ):
        pass
    assert (path / FILE).stat().st_mtime_ns == written


def test_one_that_cannot_be_gone_on_with_is_left_as_it_was(runs: tuple[PlannedRun, ...]) -> None:
    with comparison_folder(Path("a"), SPEC, runs, None):
        pass
    with pytest.raises(KeyboardInterrupt), comparison_folder(Path("a"), SPEC, runs, None):
        raise KeyboardInterrupt
    assert [each.name for each in Path("a").iterdir()] == [FILE]


def test_only_one_process_at_a_time_is_at_work(runs: tuple[PlannedRun, ...]) -> None:
    with (
        comparison_folder(Path("a"), SPEC, runs, None) as path,
        pytest.raises(SettingsError, match="Another process is using 'a'"),
        comparison_folder(Path("a"), SPEC, runs, None),
    ):
        pass
    assert is_comparison(path)


def test_what_a_process_left_that_was_killed_in_the_first_moment_is_no_hindrance(
    runs: tuple[PlannedRun, ...],
) -> None:
    Path("a").mkdir()
    Path("a", ".lock").touch()
    Path("a", f".{FILE}.part").touch()
    with comparison_folder(Path("a"), SPEC, runs, None) as path:
        pass
    assert is_comparison(path)


def test_a_folder_that_is_taken_or_cannot_be_made_is_refused(
    experiment: Experiment, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    refused = {"file": "exists already", "file/x": "cannot be used", "full": "exists already"}
    for out, sentence in {**refused, "x" * 300: "cannot be used"}.items():
        with pytest.raises(SettingsError, match=sentence), locked_folder(Path(out), experiment):
            pass
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")}
    assert left == {"file", "full", "full/file"}
