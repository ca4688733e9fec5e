"""MLflow's own client finds the values of a run's tables."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import flexcfl
from flexcfl.errors import SettingsError
from flexcfl.runner.stopping import Stop, StoppedError
from flexcfl.runner.tracking import MLflow
from flexcfl.runner.tracking.logged import settings, summary_values
from tests.record.checkpoints.interrupted import content
from tests.runner.tracking.conftest import ROUNDS, Values, broken_off, figures, run

mlflow = pytest.importorskip("mlflow", reason="needs flexcfl[mlflow]")

Store = Callable[[], Any]


def only(store: Store, experiment: str = "0") -> Any:
    """Return the one run in the store."""
    (found,) = store().search_runs([experiment])
    return found


def logged(store: Store, found: Any) -> Values:
    """Return the logged rounds; each may occur only once."""
    values: Values = {}
    for name in found.data.metrics:
        history = store().get_metric_history(found.info.run_id, name)
        values[name] = {each.step: each.value for each in history}
        assert len(values[name]) == len(history), name
    return {name: each for name, each in values.items() if not name.startswith("summary/")}


def test_every_figure_the_settings_and_the_summary(store: Store, tmp_path: Path) -> None:
    done = run(MLflow(), out=tmp_path / "run")
    found = only(store)
    assert found.info.status == "FINISHED"
    assert found.info.run_name == "run"
    assert found.data.tags["flexcfl.folder"] == str(tmp_path / "run")
    expected = figures(tmp_path / "run")
    assert max(expected["rounds/migrated"].values()) > 0
    assert logged(store, found) == expected
    said = {name: str(value) for name, value in settings(done.experiment).items()}
    assert found.data.params == said
    for name, value in summary_values(done.summary).items():
        (last,) = store().get_metric_history(found.info.run_id, name)
        assert (last.value, last.step) == (value, ROUNDS)


def test_a_followed_run_is_the_same(store: Store, whole: Path, tmp_path: Path) -> None:
    run(MLflow(), out=tmp_path / "run")
    files = content(tmp_path / "run")
    assert files.pop("mlflow.txt") == f"{only(store).info.run_id}\n".encode()
    assert files == content(whole)


def test_the_experiment_is_the_one_set_for_mlflow(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "theirs")
    run(MLflow(), out=None, rounds=1)
    run(MLflow("ours"), out=None, rounds=1)
    for name in ("theirs", "ours"):
        found = only(store, store().get_experiment_by_name(name).experiment_id)
        assert found.info.run_name == "flexcfl-digits-mclr-seed0"


def test_within_a_run_of_the_callers(store: Store) -> None:
    with mlflow.start_run() as outer:
        run(MLflow(), out=None, rounds=1)
        assert mlflow.active_run().info.run_id == outer.info.run_id
    inner = next(each for each in store().search_runs(["0"]) if each.data.params)
    assert inner.data.tags["mlflow.parentRunId"] == outer.info.run_id


def test_one_that_was_broken_off_goes_on_as_the_same_run(
    store: Store, whole: Path, tmp_path: Path
) -> None:
    broken_off(tmp_path / "run", MLflow())
    first = only(store)
    assert first.info.status == "FAILED"
    flexcfl.resume(tmp_path / "run", callbacks=[MLflow()])
    found = only(store)
    assert found.info.run_id == first.info.run_id
    assert found.info.status == "FINISHED"
    assert logged(store, found) == figures(whole)


@pytest.mark.parametrize(
    "error",
    [KeyboardInterrupt(), StoppedError("after round 5 of 5", Path("run"), Stop(15))],
    ids=lambda error: type(error).__name__,
)
def test_a_stopped_run_is_marked_as_killed(
    error: BaseException, store: Store, tmp_path: Path
) -> None:
    broken_off(tmp_path / "run", MLflow(), error=error)
    assert only(store).info.status == "KILLED"


def test_rounds_that_nobody_followed_are_made_up_for(
    store: Store, whole: Path, tmp_path: Path
) -> None:
    broken_off(tmp_path / "run")
    flexcfl.resume(tmp_path / "run", callbacks=[MLflow()])
    assert logged(store, only(store)) == figures(whole)


@pytest.mark.parametrize("what", ["deleted", "elsewhere", "rubbish"])
def test_where_its_run_is_gone_there_is_a_new_one(
    what: str, store: Store, whole: Path, tmp_path: Path
) -> None:
    broken_off(tmp_path / "run", MLflow())
    first, file = only(store).info.run_id, tmp_path / "run" / "mlflow.txt"
    store().delete_run(first)
    if what != "deleted":
        file.write_text("0" * 32 if what == "elsewhere" else "../../etc")
    flexcfl.resume(tmp_path / "run", callbacks=[MLflow()])
    found = only(store)
    assert found.info.run_id != first
    assert file.read_text() == f"{found.info.run_id}\n"
    assert logged(store, found) == figures(whole)


def test_a_run_that_never_began_leaves_no_folder(store: Store, tmp_path: Path) -> None:
    class Refusing(flexcfl.Callback):
        def begin(self, beginning: Any) -> None:
            raise OSError("not today")

    with pytest.raises(OSError, match="not today"):
        run(MLflow(), Refusing(), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    assert only(store).info.status == "FAILED"


def test_an_unusable_store_is_reported_in_a_sentence(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "nowhere://at-all")
    with pytest.raises(SettingsError, match=r"MLflow does not accept .*MLFLOW_TRACKING_URI.*again"):
        run(MLflow(), out=None)


def test_without_a_store_that_goes_away_the_run_goes_on(
    store: Store,
    whole: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    class Away(flexcfl.Callback):
        def round(self, done: Any) -> None:
            if done.figures.round == 2:
                monkeypatch.setenv("MLFLOW_TRACKING_URI", "nowhere://at-all")

    there = os.environ["MLFLOW_TRACKING_URI"]
    run(MLflow(), Away(), out=tmp_path / "run")
    told = re.findall(r"^The run in .* continues without MLflow.*", capsys.readouterr().err, re.M)
    (sentence,) = told
    assert "which failed: MLflow does not accept what is logged (" in sentence
    assert sentence.endswith("): check its store (MLFLOW_TRACKING_URI).")
    (tmp_path / "run" / "mlflow.txt").unlink()
    assert content(tmp_path / "run") == content(whole)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", there)
    assert logged(store, only(store)) == figures(whole, 2)


def test_very_many_groups_are_sent_in_parts(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flexcfl.runner.tracking.mlflow.MOST_METRICS", 7)
    monkeypatch.setattr("flexcfl.runner.tracking.mlflow.MOST_PARAMETERS", 7)
    done = run(MLflow(), out=None, rounds=1)
    found = only(store)
    assert len(found.data.params) == len(settings(done.experiment))
    assert len(found.data.metrics) == len(summary_values(done.summary)) + len(logged(store, found))
    assert found.data.metrics["rounds/transfers"] == done.rounds["transfers"][0]


def test_what_its_store_needs_may_be_missing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def client() -> Any:
        raise ModuleNotFoundError("No module named 'sqlalchemy'", name="sqlalchemy")

    monkeypatch.setattr(mlflow, "MlflowClient", client)
    with pytest.raises(SettingsError, match=r"'sqlalchemy'\): pip install 'flexcfl\[mlflow\]'"):
        MLflow().check()
