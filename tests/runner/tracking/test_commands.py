"""``--track`` of the commands, up to runs in other processes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import flexcfl
from flexcfl.cli import main
from tests.cli.refusals import told
from tests.comparison.here import all_done_here
from tests.runner.tracking.conftest import OPTIONS, broken_off, figures
from tests.runner.tracking.test_mlflow import logged as logged_by_mlflow
from tests.runner.tracking.test_mlflow import only
from tests.runner.tracking.test_tensorboard import check_same
from tests.runner.tracking.test_tensorboard import logged as logged_for_tensorboard

Store = Callable[[], Any]
BOTH = ("--track", "tensorboard", "--track", "mlflow")
SMALL = (
    *("--cohort", "10", "--epochs", "1", "--quiet"),
    *(word for key, value in OPTIONS.items() for word in ("--set", f"{key}={value}")),
)


def test_run(store: Store, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert main(["run", "--rounds", "3", *SMALL, *BOTH, "--out", str(out)]) == 0
    check_same(logged_for_tensorboard(out / "tensorboard"), figures(out))
    assert logged_by_mlflow(store, only(store)) == figures(out)


@pytest.mark.slow
def test_resume(store: Store, whole: Path, tmp_path: Path) -> None:
    broken_off(tmp_path / "run")
    assert main(["resume", "--quiet", str(tmp_path / "run"), *BOTH]) == 0
    check_same(logged_for_tensorboard(tmp_path / "run" / "tensorboard"), figures(whole))
    assert logged_by_mlflow(store, only(store)) == figures(whole)
    assert main(["resume", str(tmp_path / "run"), *BOTH]) == 0  # there is nothing left to do


def test_a_store_that_is_away_is_one_sentence(
    store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "nowhere://at-all")
    assert "MLFLOW_TRACKING_URI" in told(capsys, "run", "--track", "mlflow")


@pytest.mark.slow
def test_compare(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "compared")
    out = tmp_path / "out"
    words = ["compare", "fedavg", "flexcfl", "--seeds", "1", "--jobs", "1", "--rounds", "3"]
    assert main([*words, *SMALL, *BOTH, "--out", str(out)]) == 0
    number = store().get_experiment_by_name("compared").experiment_id
    runs = {found.info.run_name: found for found in store().search_runs([number])}
    assert sorted(runs) == sorted(each.parent.name for each in out.glob("*/experiment.toml"))
    for name, found in runs.items():
        assert logged_by_mlflow(store, found) == figures(out / name)
        check_same(logged_for_tensorboard(out / name / "tensorboard"), figures(out / name))


@pytest.mark.slow
def test_compare_from_python_without_a_folder(store: Store) -> None:
    with pytest.raises(flexcfl.errors.SettingsError, match="no folder for its logs"):
        flexcfl.compare(["fedavg"], seeds=1, rounds=1, track="tensorboard")
    with all_done_here():  # in processes it is done by the command above
        flexcfl.compare(["fedavg"], seeds=1, rounds=1, track="mlflow")
    assert only(store).data.params["algorithm.name"] == "fedavg"


@pytest.mark.slow
@pytest.mark.processes
def test_federate(store: Store, tmp_path: Path) -> None:
    pytest.importorskip("flwr", reason="needs flexcfl[flower]")
    out = tmp_path / "out"
    words = ["federate", "--nodes", "1", "--rounds", "2"]
    assert main([*words, *SMALL, *BOTH, "--out", str(out)]) == 0
    check_same(logged_for_tensorboard(out / "tensorboard"), figures(out))
    assert logged_by_mlflow(store, only(store)) == figures(out)
    assert len(figures(out)["rounds/transfers"]) == 2
