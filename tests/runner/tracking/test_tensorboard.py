"""TensorBoard's own reader finds the values of a run's tables."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flexcfl
from flexcfl.errors import SettingsError
from flexcfl.runner.result import Run
from flexcfl.runner.tracking import TensorBoard
from flexcfl.runner.tracking.logged import settings, summary_values
from tests.record.checkpoints.interrupted import content
from tests.runner.tracking.conftest import (
    BROKEN,
    CHECKPOINT,
    ROUNDS,
    Values,
    broken_off,
    figures,
    run,
)

pytest.importorskip("tensorboard", reason="needs flexcfl[tensorboard]")

from tensorboard.backend.event_processing import event_accumulator, plugin_event_accumulator
from tensorboard.plugins.hparams import plugin_data_pb2


def read(logdir: Path) -> Any:
    reader = event_accumulator.EventAccumulator(str(logdir), size_guidance={"scalars": 0})
    return reader.Reload()


def scalars(reader: Any) -> Iterator[tuple[str, list[Any]]]:
    """Yield the events of each figure."""
    for tag in reader.Tags()["scalars"]:
        yield tag, reader.Scalars(tag)


def logged(logdir: Path) -> Values:
    """Return the logged rounds; each may occur only once."""
    found: Values = {}
    for tag, events in scalars(read(logdir)):
        if not tag.startswith("summary/"):
            steps = [event.step for event in events]
            assert steps == sorted(set(steps)), tag
            found[tag] = {event.step: event.value for event in events}
    return found


def check_same(found: Values, expected: Values) -> None:
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        rounded = {number: float(np.float32(value)) for number, value in values.items()}
        assert found[name] == rounded, name


def test_every_figure_of_every_round(whole: Path, tmp_path: Path) -> None:
    run(TensorBoard(), out=tmp_path / "run")
    expected = figures(tmp_path / "run")
    names = ("accuracy", "loss", "discrepancy", "migrated", "shifted", "detected", "transfers")
    assert all(expected[f"rounds/{name}"] for name in names)
    assert max(expected["rounds/migrated"].values()) > 0
    assert expected["groups/1/clients"].keys() == set(range(1, ROUNDS + 1))
    check_same(logged(tmp_path / "run" / "tensorboard"), expected)


def test_a_followed_run_is_the_same(whole: Path, tmp_path: Path) -> None:
    run(TensorBoard(), out=tmp_path / "run")
    files = content(tmp_path / "run")
    assert {name: each for name, each in files.items() if "tensorboard" not in name} == content(
        whole
    )


def test_the_summary_and_the_settings(tmp_path: Path) -> None:
    done = run(TensorBoard(tmp_path / "logs" / "mine"), out=None)
    reader = read(tmp_path / "logs" / "mine")
    check_summary(reader, done)
    plugin = reader.summary_metadata["_hparams_/session_start_info"].plugin_data
    told = plugin_data_pb2.HParamsPluginData.FromString(plugin.content).session_start_info.hparams
    expected = settings(done.experiment)
    assert expected["shift.name"] == "swap-all"
    assert expected["local.epochs"] == 1
    assert told.keys() == expected.keys()
    for name, value in expected.items():
        assert getattr(told[name], told[name].WhichOneof("kind")) == value


def check_summary(reader: Any, done: Run) -> None:
    expected = summary_values(done.summary)
    assert {"summary/accuracy/best", "summary/accuracy/final", "summary/migrations"} <= set(
        expected
    )
    found = {tag: events for tag, events in scalars(reader) if tag.startswith("summary/")}
    assert found.keys() == expected.keys()
    for tag, (event,) in found.items():
        assert event.step == ROUNDS
        assert event.value == np.float32(expected[tag])


def test_a_run_without_a_folder_needs_a_place(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"no folder for its logs: .*'logs/mine'"):
        run(TensorBoard(), out=None)


def test_one_that_was_broken_off_goes_on_without_a_trace(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    broken_off(folder, TensorBoard())
    check_same(logged(folder / "tensorboard"), figures(whole, BROKEN))
    done = flexcfl.resume(folder, callbacks=[TensorBoard()])
    assert len(list((folder / "tensorboard").iterdir())) == 2
    check_same(logged(folder / "tensorboard"), figures(whole))
    check_summary(read(folder / "tensorboard"), done)
    # The reader behind TensorBoard's own pages, if the faster one is missing.
    pages = plugin_event_accumulator.EventAccumulator(str(folder / "tensorboard")).Reload()
    steps = [event.step for event in pages.Tensors("rounds/transfers")]
    assert steps == list(range(1, ROUNDS + 1))


def test_while_it_goes_on_no_round_is_there_that_will_be_done_again(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    broken_off(folder, TensorBoard())
    tracker = TensorBoard()

    class Look(flexcfl.Callback):
        last = 0

        def round(self, done: Any) -> None:
            self.last = max(logged(folder / "tensorboard")["rounds/transfers"])
            assert self.last == done.figures.round

    look = Look()
    flexcfl.resume(folder, callbacks=[tracker, look])
    assert look.last == ROUNDS


def test_rounds_that_nobody_followed_are_made_up_for(whole: Path, tmp_path: Path) -> None:
    broken_off(tmp_path / "run")
    flexcfl.resume(tmp_path / "run", callbacks=[TensorBoard()])
    check_same(logged(tmp_path / "run" / "tensorboard"), figures(whole))


def test_a_run_of_which_only_the_end_was_missing(tmp_path: Path) -> None:
    words = {"rounds": CHECKPOINT}
    with pytest.raises(OSError, match="no"):
        run(Failing(), out=tmp_path / "run", **words)
    flexcfl.resume(tmp_path / "run", callbacks=[TensorBoard()])
    check_same(logged(tmp_path / "run" / "tensorboard"), figures(tmp_path / "run"))


class Failing(flexcfl.Callback):
    def round(self, done: Any) -> None:
        if done.figures.round == CHECKPOINT:
            raise OSError("no")


def test_one_tracker_may_follow_several_runs(whole: Path, tmp_path: Path) -> None:
    tracker = TensorBoard()
    for name in ("one", "two"):
        run(tracker, out=tmp_path / name)
        check_same(logged(tmp_path / name / "tensorboard"), figures(whole))


def test_a_folder_that_leads_elsewhere_is_not_written_to(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    elsewhere.mkdir()
    broken_off(folder)
    (folder / "tensorboard").symlink_to(elsewhere)
    flexcfl.resume(folder, callbacks=[TensorBoard()])
    assert capsys.readouterr().err == (
        f"The run in '{folder}' continues without TensorBoard, which failed: "
        f"'{folder / 'tensorboard'}' cannot be written (Not a directory).\n"
    )
    assert not any(elsewhere.iterdir())
    (folder / "tensorboard").unlink()
    assert content(folder) == content(whole)
