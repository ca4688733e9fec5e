"""Runs of a worker: begun, stopped, resumed, found finished; all done in this process."""

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import flexcfl
from flexcfl.comparison import worker
from flexcfl.comparison.plan import PlannedRun, plan_runs
from flexcfl.comparison.worker import RunWorker
from flexcfl.comparison.worker_messages import Done, Message, Remark, Resumed, RoundDone, Task
from flexcfl.data import Federation
from flexcfl.errors import SettingsError
from flexcfl.experiment.experiment import Experiment
from flexcfl.experiment.layers import options_layer
from flexcfl.experiment.objects import UserObjects
from flexcfl.record.lock import locked
from flexcfl.record.tables import Round
from flexcfl.runner.prepare import Prepared, prepare
from flexcfl.runner.stopping import StoppedError
from flexcfl.runner.tracking import TRACKERS

ROUNDS = 6
SHORT: dict[str, Any] = {"rounds": 3, "cohort": 5, "epochs": 1}
ASSIGNED = {"data.clients": 10, "run.cohorts": "round-robin-then-uniform"}


Snapshot = Callable[[Path], dict[str, bytes]]


@pytest.fixture(scope="module")
def planned_run() -> PlannedRun:
    given = {"rounds": ROUNDS, "cohort": 5, "epochs": 1}
    assigned = {
        "data.clients": 10,
        "algorithm.alpha": 2,
        "run.checkpoint_rounds": 2,
        "run.checkpoint_share": 1,
    }
    return plan_runs(["flexcfl"], 1, options_layer(given, assigned))[0]


@pytest.fixture(scope="module")
def whole(planned_run: PlannedRun, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the run without interruption."""
    path = tmp_path_factory.mktemp("worker") / "whole"
    RunWorker(None).do(Task(planned_run.experiment, path), lambda _: None)
    return path


def do(run: PlannedRun, path: Path, at: int = 0, number: int = signal.SIGINT) -> list[Message]:
    """Let a worker do a run, with a signal when round ``at`` is done."""
    messages: list[Message] = []

    def send(message: Message) -> None:
        messages.append(message)
        if message == RoundDone(at, getattr(message, "accuracy", None)):
            signal.raise_signal(number)

    RunWorker(None).do(Task(run.experiment, path), send)
    return messages


def stopped(run: PlannedRun, path: Path, at: int) -> None:
    with pytest.raises(StoppedError):
        do(run, path, at)


@pytest.mark.parametrize("at", [1, 2, ROUNDS - 1])
def test_a_run_that_was_stopped_goes_on_to_the_same_end(
    at: int, planned_run: PlannedRun, whole: Path, tmp_path: Path, snapshot: Snapshot
) -> None:
    stopped(planned_run, tmp_path, at)
    first, *rounds, last = do(planned_run, tmp_path)
    assert isinstance(first, Resumed)
    assert first.number == at
    assert [getattr(each, "number", None) for each in rounds] == list(range(at + 1, ROUNDS + 1))
    assert isinstance(last, Done)
    assert len(last.accuracy) == ROUNDS
    assert snapshot(tmp_path) == snapshot(whole)


def test_the_last_known_accuracy_comes_along(planned_run: PlannedRun, tmp_path: Path) -> None:
    stopped(planned_run, tmp_path, ROUNDS - 1)
    resumed, *_, done = do(planned_run, tmp_path)
    assert isinstance(resumed, Resumed)
    assert isinstance(done, Done)
    assert resumed.accuracy == done.accuracy[ROUNDS - 2]


def test_a_wish_to_stop_in_the_last_round_ends_the_process_after_the_run(
    planned_run: PlannedRun, tmp_path: Path
) -> None:
    with pytest.raises(KeyboardInterrupt):
        do(planned_run, tmp_path, ROUNDS)
    assert (tmp_path / "summary.json").is_file()


def test_without_a_folder_there_is_nothing_to_wait_for(planned_run: PlannedRun) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupt(_: Message) -> None:
        signal.raise_signal(signal.SIGINT)

    try:
        with pytest.raises(KeyboardInterrupt):
            RunWorker(None).do(Task(planned_run.experiment, None), interrupt)
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("folder", ["run", None])
def test_nothing_is_begun_when_nobody_waits_for_it_any_more(
    folder: str | None, planned_run: PlannedRun, tmp_path: Path
) -> None:
    one, path = RunWorker(None), tmp_path / folder if folder else None
    one.hung_up.set()  # and no signal comes, as if a library had swallowed it
    with pytest.raises(KeyboardInterrupt):
        one.do(Task(planned_run.experiment, path), lambda _: None)
    assert list(tmp_path.iterdir()) == []


def test_without_a_folder_a_run_ends_after_the_round_at_the_latest(planned_run: PlannedRun) -> None:
    one, messages = RunWorker(None), list[Message]()

    def send(message: Message) -> None:
        messages.append(message)
        one.hung_up.set()

    with pytest.raises(KeyboardInterrupt):
        one.do(Task(planned_run.experiment, None), send)
    assert len(messages) == 1


def test_a_finished_run_is_only_read(
    planned_run: PlannedRun, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "prepare", None)
    before = {path: path.stat().st_mtime_ns for path in whole.rglob("*")}
    (done,) = do(planned_run, whole)
    assert isinstance(done, Done)
    assert done.before
    assert np.isfinite(done.accuracy[-1])
    assert {path: path.stat().st_mtime_ns for path in whole.rglob("*")} == before


def empty(path: Path) -> None:
    path.mkdir()


def marked(path: Path) -> None:
    path.mkdir()
    (path / "experiment.toml").touch()
    (path / ".lock").touch()


def labelled(path: Path) -> None:
    marked(path)
    (path / "labels.csv").write_text("client,label,train,test\n")
    (path / ".labels.csv.part").write_text("clie")


def settled(path: Path) -> None:
    labelled(path)
    (path / "experiment.toml").write_text("[run]\nrounds = 6\n")
    (path / ".experiment.toml.part").write_text("[ru")
    (path / "checkpoints").mkdir()
    (path / "checkpoints" / ".round-0.json.part").touch()


@pytest.mark.parametrize("left", [empty, marked, labelled, settled])
def test_what_was_killed_before_its_first_checkpoint_is_begun_anew(
    left: Callable[[Path], None],
    planned_run: PlannedRun,
    whole: Path,
    tmp_path: Path,
    snapshot: Snapshot,
) -> None:
    left(tmp_path / "run")
    messages = do(planned_run, tmp_path / "run")
    assert [type(each) for each in messages] == [RoundDone] * ROUNDS + [Done]
    assert snapshot(tmp_path / "run") == snapshot(whole)


def test_what_others_have_put_there_stays(planned_run: PlannedRun, tmp_path: Path) -> None:
    marked(tmp_path / "run")
    (tmp_path / "run" / "notes.txt").write_text("mine")
    with pytest.raises(SettingsError, match="exists already and is not an empty folder"):
        do(planned_run, tmp_path / "run")
    assert len(list((tmp_path / "run").iterdir())) == 3


def test_trackers_that_fail_are_told_of_and_do_not_end_a_run(
    planned_run: PlannedRun,
    whole: Path,
    tmp_path: Path,
    snapshot: Snapshot,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Failing(flexcfl.Callback):
        optional = True

        def check(self) -> None:
            return

        def round(self, done: Round) -> None:
            raise OSError("no more ink")

    class Away(Failing):
        def check(self) -> None:
            raise SettingsError("It is away.")

    for tracker in (Failing, Away):
        monkeypatch.setitem(cast(dict[str, Any], TRACKERS), tracker.__name__, tracker)
    messages: list[Message] = []
    task = Task(planned_run.experiment, tmp_path, ("Away", "Failing"))
    RunWorker(None).do(task, messages.append)
    away, failed = (each.sentence for each in messages if isinstance(each, Remark))
    assert away == "A run begins without Away: It is away."
    assert failed.startswith(f"The run in '{tmp_path}' continues without Failing, which failed:")
    assert isinstance(messages[-1], Done)
    assert snapshot(tmp_path) == snapshot(whole)


def test_a_damaged_checkpoint_is_told_about_and_the_one_before_is_used(
    planned_run: PlannedRun, whole: Path, tmp_path: Path, snapshot: Snapshot
) -> None:
    stopped(planned_run, tmp_path, 5)
    (tmp_path / "checkpoints" / "round-5.json").write_text("{")
    remark, resumed, *_ = do(planned_run, tmp_path)
    assert isinstance(remark, Remark)
    assert "round-5.json' cannot be used" in remark.sentence
    assert isinstance(resumed, Resumed)
    assert resumed.number < 5  # which one it is depends on how fast the disk is
    assert snapshot(tmp_path) == snapshot(whole)


def test_a_folder_in_which_another_process_works_is_left_alone(
    planned_run: PlannedRun, tmp_path: Path
) -> None:
    stopped(planned_run, tmp_path, 1)
    with locked(tmp_path), pytest.raises(SettingsError, match="Another process is using"):
        do(planned_run, tmp_path)
    assert len((tmp_path / "rounds.csv").read_text().splitlines()) == 2


def test_the_run_of_another_experiment_does_not_go_on(
    planned_run: PlannedRun, tmp_path: Path
) -> None:
    stopped(planned_run, tmp_path, 1)
    given: dict[str, Any] = {"rounds": ROUNDS, "cohort": 4, "epochs": 1}
    assigned = {"data.clients": 10, "algorithm.alpha": 2}
    other = plan_runs(["flexcfl"], 1, options_layer(given, assigned))[0]
    with pytest.raises(SettingsError, match=r"\[run\] cohort is not what it was"):
        do(other, tmp_path)


def test_runs_of_one_worker_leave_what_single_runs_leave(tmp_path: Path) -> None:
    messages = list[Any]()
    runner = RunWorker(None)
    for run in plan_runs(
        ["fedavg", "flexcfl"], 2, options_layer(SHORT, {**ASSIGNED, "algorithm.alpha": 2})
    ):
        runner.do(Task(run.experiment, tmp_path / "many" / run.folder), messages.append)
    kinds = [type(message) for message in messages]
    assert kinds == [RoundDone, RoundDone, RoundDone, Done] * 4
    options = {**ASSIGNED, "algorithm.alpha": 2}
    last = flexcfl.run(algorithm="flexcfl", seed=1, set=options, out=tmp_path / "one", **SHORT)
    one, same = tmp_path / "one", tmp_path / "many" / "flexcfl-seed1"
    written = {str(path.relative_to(one)) for path in one.rglob("*") if path.is_file()}
    assert written == {str(path.relative_to(same)) for path in same.rglob("*") if path.is_file()}
    for name in written - {"timings.csv", "summary.json"}:
        assert (one / name).read_bytes() == (same / name).read_bytes(), name
    assert np.array_equal(messages[-1].accuracy, last.rounds["accuracy"], equal_nan=True)
    assert np.array_equal(messages[-1].honest, last.rounds["honest_accuracy"], equal_nan=True)
    assert messages[-1].summary["accuracy"] == last.summary["accuracy"]
    assert messages[-2].number == 3


def short(algorithm: str, **assigned: object) -> Task:
    """Return a task of two rounds without a folder."""
    named = {name.replace("__", "."): value for name, value in assigned.items()}
    given = {"rounds": 2, "cohort": 5, "epochs": 1}
    run = plan_runs([algorithm], 1, options_layer(given, {"data.clients": 10, **named}))[0]
    return Task(run.experiment, None)


def accuracy_of(one: RunWorker, task: Task) -> list[float]:
    done: list[Done] = []
    one.do(task, lambda message: done.append(message) if isinstance(message, Done) else None)
    found: list[float] = np.nan_to_num(done[0].accuracy, nan=-1).tolist()
    return found


def test_data_are_loaded_when_a_run_names_others_and_kept_while_they_are_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    used: list[Federation] = []

    def noted(experiment: Experiment, own: UserObjects) -> Prepared:
        prepared = prepare(experiment, own)
        used.append(prepared.federation)
        return prepared

    monkeypatch.setattr(worker, "prepare", noted)
    tasks = [
        short("fedavg"),
        short("ifca"),
        short("fedavg", shift__name="swap-all"),
        short("fedavg", data__seed=1),
        short("fedavg", data__name="clusters"),
        short("ifca", data__name="clusters"),
        short("fedavg"),
    ]
    one = RunWorker(None)
    found = [accuracy_of(one, task) for task in tasks]
    assert [each.name for each in used] == ["digits"] * 4 + ["clusters"] * 2 + ["digits"]
    places = [next(place for place, old in enumerate(used) if old is each) for each in used]
    assert places == [0, 0, 0, 3, 4, 4, 6]
    assert found == [accuracy_of(RunWorker(None), task) for task in tasks]
    assert found[0] == found[6] != found[3]


def test_data_of_the_callers_own_are_never_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    task = short("fedavg")
    mine = prepare(task.experiment).federation
    seen: list[Federation | None] = []

    def noted(experiment: Experiment, own: UserObjects) -> Prepared:
        seen.append(own.federation)
        return prepare(experiment, own)

    monkeypatch.setattr(worker, "prepare", noted)
    one = RunWorker(mine)
    assert accuracy_of(one, task) == accuracy_of(one, short("fedavg", data__seed=1))
    assert seen == [mine, mine]
