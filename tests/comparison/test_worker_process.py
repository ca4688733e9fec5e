"""What a worker process answers when something fails."""

import pickle
import sys

import pytest

from flexcfl.comparison.worker import failure_message
from flexcfl.comparison.worker_messages import Failed, Faulty
from flexcfl.comparison.worker_process import report_unraisable
from flexcfl.errors import DiskError, TrainingError


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
    told = failure_message(error, begun=True)
    assert isinstance(told, Failed)
    assert sentence in told.sentence
    again = pickle.loads(pickle.dumps(told))
    assert again == told
    assert str(again.kind(again.sentence)) == told.sentence


def test_a_fault_of_the_program_is_told_with_its_origin() -> None:
    try:
        raise KeyError("a fault")
    except KeyError as error:
        told = failure_message(error, begun=True)
    assert isinstance(told, Faulty)
    assert "test_worker_process.py" in told.trace
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

    monkeypatch.setattr(sys, "unraisablehook", report_unraisable)
    Raising()
    assert ("ValueError" in capsys.readouterr().err) == shown
