"""Trackers are found by name, and missing packages are reported before any work is done."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import flexcfl
from flexcfl.cli import main
from flexcfl.data import Federation
from flexcfl.errors import SettingsError
from flexcfl.runner.tracking import TRACKERS, MLflow, TensorBoard, trackers
from flexcfl.runner.tracking.logged import summary_values
from tests.runner.tracking.conftest import run


def test_by_name() -> None:
    pytest.importorskip("tensorboard", reason="needs flexcfl[tensorboard]")
    assert set(TRACKERS) == {"tensorboard", "mlflow"}
    (found,) = trackers(["tensorboard", " tensorboard,"])
    assert isinstance(found, TensorBoard)
    assert trackers([]) == trackers([""]) == trackers(None) == []


def test_a_run_and_a_resumed_one_take_names(blobs: Federation, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="needs flexcfl[tensorboard]")

    class Stopping(flexcfl.Callback):
        def round(self, done: Any) -> None:
            if done.figures.round == 1:
                raise KeyboardInterrupt

    out, short = tmp_path / "run", {"dataset": blobs, "rounds": 2, "algorithm": "fedavg"}
    given: dict[str, Any] = {**short, "out": out, "track": "tensorboard"}
    with pytest.raises(KeyboardInterrupt):
        flexcfl.run(callbacks=[Stopping()], **given)
    assert not (out / "tensorboard").exists()  # which followed the callback that stopped it
    flexcfl.resume(out, dataset=blobs, track=["tensorboard"])
    assert len(list((out / "tensorboard").iterdir())) == 1
    for name, sentence in (("tensorbord", "did you mean 'tensorboard'"), (5, "track must be a na")):
        wrong: dict[str, Any] = {**short, "track": name}
        with pytest.raises(SettingsError, match=sentence):
            flexcfl.run(**wrong)
        with pytest.raises(SettingsError, match=sentence):
            flexcfl.compare(track=wrong["track"])


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(SettingsError, match="There is no tracker 'tensorbord': did you mean"):
        trackers(["tensorbord"])


@pytest.mark.parametrize("tracker", [TensorBoard("logs"), MLflow()], ids=["tensorboard", "mlflow"])
def test_a_package_that_is_missing(
    tracker: TensorBoard | MLflow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = type(tracker).__name__.lower()
    for module in [each for each in sys.modules if each.split(".")[0] == name]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, name, None)
    sentence = rf"is not installed \(.*\): pip install 'flexcfl\[{name}\]', then try again"
    with pytest.raises(SettingsError, match=sentence):
        trackers([name])
    with pytest.raises(SettingsError, match=sentence):
        run(tracker, out=tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_nobody_waits_for_packages_that_are_not_asked_for() -> None:
    program = """
import sys
import flexcfl
run = flexcfl.run(rounds=1)
flexcfl.runner.tracking.trackers([])
assert not {"tensorboard", "mlflow", "sqlalchemy"} & set(sys.modules)
flexcfl.runner.tracking.TensorBoard().check()
assert not {"tensorflow", "mlflow"} & set(sys.modules)
"""
    pytest.importorskip("tensorboard", reason="needs flexcfl[tensorboard]")
    subprocess.run([sys.executable, "-c", program], check=True)


def test_only_numbers_of_a_summary_are_logged() -> None:
    summary = {"a": {"b": {"c": 1}}, "d": None, "e": "text", "f": True, "g": [1], "h": 0.5}
    assert summary_values(summary) == {"summary/a/b/c": 1, "summary/h": 0.5}


def test_the_command_tells_of_an_unknown_name(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for words in (["run"], ["compare"], ["federate"]):
        assert main([*words, "--track", "ml-flow"]) == 2
        said = "Error: There is no tracker 'ml-flow': did you mean 'mlflow'?"
        assert capsys.readouterr().err.startswith(said)
    assert list(tmp_path.iterdir()) == []
