"""What a worker process does, done in this one."""

import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flexcfl
from flexcfl.comparison import worker
from flexcfl.comparison.desk import Desk
from flexcfl.comparison.messages import Done, Failed, Faulty, RoundDone, Task
from flexcfl.comparison.plan import planned
from flexcfl.errors import DiskError, TrainingError
from flexcfl.experiment.layers import spoken

SHORT: dict[str, Any] = {"rounds": 3, "cohort": 5, "epochs": 1}
ASSIGNED = {"data.clients": 10, "run.cohorts": "round-robin-then-uniform"}


def test_runs_at_one_desk_leave_what_single_runs_leave(tmp_path: Path) -> None:
    desk, messages = Desk(None), list[Any]()
    for run in planned(["fedavg", "flexcfl"], 2, spoken(SHORT, {**ASSIGNED, "algorithm.alpha": 2})):
        desk.do(Task(run.experiment, tmp_path / "many" / run.folder), messages.append)
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


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (TrainingError("It diverged."), "It diverged."),
        (MemoryError(), "There is too little memory: lower --jobs"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), "There is too little memory"),
        (
            OSError(28, "No space left on device"),
            "cannot be used (No space left on device): see that",
        ),
        (
            DiskError.of("x/rounds.csv", "No space left on device"),
            "'x/rounds.csv' cannot be written",
        ),
    ],
)
def test_what_a_person_can_mend_is_a_sentence(error: Exception, sentence: str) -> None:
    told = worker.failure(error, begun=True)
    assert isinstance(told, Failed)
    assert sentence in told.sentence
    again = pickle.loads(pickle.dumps(told))
    assert again == told
    assert str(again.kind(again.sentence)) == told.sentence


def test_a_fault_of_the_program_is_told_with_its_origin() -> None:
    try:
        raise KeyError("a fault")
    except KeyError as error:
        told = worker.failure(error, begun=True)
    assert isinstance(told, Faulty)
    assert "test_worker.py" in told.trace
    assert "a fault" in told.trace


@pytest.mark.parametrize(("error", "shown"), [(KeyboardInterrupt(), False), (ValueError(), True)])
def test_only_the_wish_to_end_may_get_lost_without_a_word(
    error: BaseException,
    shown: bool,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Raising:
        def __del__(self) -> None:
            raise error

    monkeypatch.setattr(sys, "unraisablehook", worker._unraisable)
    Raising()
    assert ("ValueError" in capsys.readouterr().err) == shown
