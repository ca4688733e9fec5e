"""Processes that do not do what they should: told about, and none of them left behind."""

import os
import pickle
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flexcfl.comparison import worker_pool
from flexcfl.comparison.plan import PlannedRun, plan_runs
from flexcfl.comparison.worker_messages import Started
from flexcfl.comparison.worker_pool import pickled, process_environment, run_in_processes
from flexcfl.data import Federation
from flexcfl.errors import SettingsError, TrainingError
from flexcfl.experiment.layers import options_layer
from flexcfl.runner.stopping import Stop


@pytest.fixture
def runs() -> tuple[PlannedRun, ...]:
    return plan_runs(["fedavg", "ifca"], 1, options_layer({"rounds": 2}, {}))


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> Iterator[list["subprocess.Popen[bytes]"]]:
    """All processes that a test starts; at its end none of them runs any more."""
    started: list[subprocess.Popen[bytes]] = []

    class Noted(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *words: Any, **options: Any) -> None:
            super().__init__(*words, **options)
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Noted)
    yield started
    assert all(each.returncode is not None for each in started)


Children = list["subprocess.Popen[bytes]"]


def test_a_process_that_dies_is_told_about_by_algorithm_and_seed(
    runs: tuple[PlannedRun, ...], children: Children, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_pool, "PROGRAM", "import sys; sys.exit(7)")
    with pytest.raises(TrainingError, match=r"of 'fedavg' with seed 0 ended .*exit code 7"):
        list(run_in_processes(runs, 1, pickled(None), None))
    assert len(children) == 1


def test_one_that_does_not_listen_is_killed(
    runs: tuple[PlannedRun, ...], children: Children, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_pool, "PROGRAM", "import time; time.sleep(60)")
    monkeypatch.setattr(worker_pool, "GRACE", 0.2)
    events = run_in_processes(runs, 2, pickled(None), None)
    assert [next(events), next(events)] == [(run, Started()) for run in runs]
    assert next(events) is None
    events.close()
    assert [each.returncode for each in children] == [-9, -9]


def test_there_are_never_more_processes_than_runs(
    runs: tuple[PlannedRun, ...], children: Children, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_pool, "PROGRAM", "import sys; sys.stdin.read()")
    events = run_in_processes(runs, 9, pickled(None), None, low_priority=True)
    assert [next(events), next(events), next(events)] == [*((run, Started()) for run in runs), None]
    assert [os.getpriority(os.PRIO_PROCESS, each.pid) for each in children] == [19, 19]
    events.close()
    assert len(children) == 2


# It says what it is doing only after a while, and ends when its input has.
PATIENT = """
import os, sys, time
sys.stdin.buffer.read(); time.sleep(0.5); open({path!r}, "a").write("ended\\n")
"""


def test_who_is_asked_to_stop_is_waited_for(
    runs: tuple[PlannedRun, ...],
    children: Children,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    file, stop = tmp_path / "file", Stop()
    program = PATIENT.format(path=str(file))
    monkeypatch.setattr(worker_pool, "PROGRAM", program.replace("{", "{{").replace("}", "}}"))
    events = run_in_processes(runs, 2, pickled(None), tmp_path / "out", stop)
    assert [next(events), next(events)] == [(run, Started()) for run in runs]
    own = os.getpriority(os.PRIO_PROCESS, 0)
    assert {os.getpriority(os.PRIO_PROCESS, each.pid) for each in children} == {own}
    stop.asked = 2
    assert set(events) <= {None}
    assert file.read_text() == "ended\n" * 2
    assert [each.returncode for each in children] == [0, 0]


def test_who_is_asked_to_stop_twice_is_killed(
    runs: tuple[PlannedRun, ...], children: Children, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_pool, "PROGRAM", "import time; time.sleep(60)")
    stop = Stop()
    events = run_in_processes(runs, 2, pickled(None), None, stop)
    assert [next(events), next(events)] == [(run, Started()) for run in runs]
    stop.asked = 2
    assert next(events) is None
    monkeypatch.setattr(worker_pool, "GRACE", 600.0)  # which nobody would wait for
    events.close()
    assert [each.returncode for each in children] == [-9, -9]


@pytest.mark.parametrize(("given", "expected"), [(None, "1"), ("5", "5")])
def test_a_process_has_one_thread_unless_somebody_says_otherwise(
    given: str | None, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if given:
        monkeypatch.setenv("OMP_NUM_THREADS", given)
    assert process_environment()["OMP_NUM_THREADS"] == expected


def test_what_cannot_be_sent_is_refused() -> None:
    federation: Any = lambda: None  # noqa: E731
    assert not isinstance(federation, Federation)
    with pytest.raises(SettingsError, match="The federation cannot be sent to other processes"):
        pickled(federation)


def test_what_only_the_parent_knows_is_told_and_leaves_nothing_behind(
    runs: tuple[PlannedRun, ...], children: Children
) -> None:
    unknown = pickle.dumps(pickled).replace(b"pickled", b"pickeld")
    with pytest.raises(SettingsError, match=r"cannot read .*pickeld.*can be imported"):
        list(run_in_processes(runs, 1, unknown, None))
    assert len(children) == 1


@pytest.mark.slow
def test_what_is_wrong_before_a_run_begins_is_blamed_on_none(children: Children) -> None:
    large = plan_runs(["fedavg", "ifca"], 1, options_layer({"rounds": 2, "cohort": 1000}, {}))
    with pytest.raises(SettingsError, match=r"^A cohort of 1000 is larger than the federation"):
        list(run_in_processes(large, 1, pickled(None), None))
    assert children
