"""Comparisons that are killed, stopped and resumed, in real processes: nothing is lost."""

import os
import random
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
import pytest

from flexcfl.cli import main
from flexcfl.comparison import api, running, worker_pool
from flexcfl.comparison.worker_messages import Done, Event
from flexcfl.errors import SettingsError
from tests.cli.processes import started
from tests.comparison.here import Here, all_done_here, federation
from tests.waiting import PATIENCE

pytestmark = pytest.mark.slow

Snapshot = Callable[[Path], dict[str, bytes]]
ASSIGNED = [
    "data.clients=10",
    "algorithm.groups=2",
    "run.checkpoint_rounds=7",
    "run.checkpoint_share=1",
]
WORDS = ["fedavg", "ifca", "--seeds", "2", "--jobs", "2", "--cohort", "5", "--epochs", "1"]
WORDS += ["--rounds", "60", *(word for each in ASSIGNED for word in ("--set", each))]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the comparison without interruption."""
    out = tmp_path_factory.mktemp("comparison") / "whole"
    with all_done_here():
        assert main(["compare", *WORDS, "--out", str(out), "-q"]) == 0
    return out


def children(parent: int) -> list[int]:
    """Return the processes that a process has started."""
    words = ["ps", "-A", "-o", "pid=,ppid="]
    listed = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    pairs = [tuple(map(int, line.split())) for line in listed.splitlines()]
    return [pid for pid, above in pairs if above == parent]


def wait_for(folder: Path, pattern: str, command: "subprocess.Popen[str]") -> None:
    while not list(folder.glob(pattern)):
        assert command.poll() is None, command.communicate()
        sleep(0.01)


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("*/rounds.csv"))


def test_it_is_the_same_after_it_was_killed_at_any_moment(
    whole: Path, tmp_path: Path, snapshot: Snapshot
) -> None:
    out, moments = tmp_path / "out", [random.uniform(0, 0.8) for _ in range(2)]
    words = ["compare", *WORDS, "--out", str(out), "-q"]
    for moment in moments:
        rounds = size(out)
        with started(*words) as command:
            while size(out) == rounds and command.poll() is None:
                sleep(0.01)
            sleep(moment)
            # Killing the parent first is worst: its children cannot report to anyone.
            alive = command.poll() is None
            for each in [command.pid, *children(command.pid)] if alive else []:
                with suppress(ProcessLookupError):
                    os.kill(each, signal.SIGKILL)
        words = ["resume", str(out), "-q", "--jobs", "1"]
    with all_done_here():
        assert main(words) == 0, moments
    assert snapshot(out) == snapshot(whole), moments


def test_it_stops_when_asked_to_and_goes_on_as_it_says(
    whole: Path, tmp_path: Path, snapshot: Snapshot
) -> None:
    out = tmp_path / "a folder"
    with started("compare", *WORDS, "--out", str(out)) as command:
        wait_for(out, "*/rounds.csv", command)
        command.send_signal(signal.SIGTERM)  # Ctrl-C is in tests/cli/test_compare_command.py
        # Were a process left behind, the output that it has inherited would not end.
        _, told = command.communicate(timeout=PATIENCE)
    assert command.returncode == 143
    complete = len(list(out.glob("*/summary.json")))
    assert told == (
        "\nStopping after this round; press Ctrl-C again to stop at once.\n"
        f"Stopped with {complete} of 4 runs complete. To go on: flexcfl resume '{out}'\n"
    )
    for folder in out.glob("*/checkpoints"):
        check_last_round_is_kept(folder.parent)
    assert not list(out.rglob("*.part"))
    with all_done_here():
        assert main(["resume", str(out), "-q", "--jobs", "1"]) == 0
    assert snapshot(out) == snapshot(whole)


def check_last_round_is_kept(run: Path) -> None:
    last = (run / "rounds.csv").read_text().splitlines()[-1].split(",")[0]
    assert (run / "checkpoints" / f"round-{last}.json").is_file()


def test_who_does_not_want_to_wait_for_the_end_of_a_round_need_not(tmp_path: Path) -> None:
    long = ["fedavg", "--seeds", "1", "--cohort", "5", "--set", "local.steps=200000"]
    out = tmp_path / "out"
    with started("compare", *long, "--set", "data.clients=10", "--out", str(out)) as command:
        wait_for(out, "*/checkpoints/round-0.json", command)
        command.send_signal(signal.SIGINT)
        assert command.stderr is not None
        assert command.stderr.readline() == "\n"
        assert "Stopping after this round" in command.stderr.readline()
        sleep(0.5)
        assert command.poll() is None
        command.send_signal(signal.SIGINT)
        shown, told = command.communicate(timeout=PATIENCE)
    assert (command.returncode, told) == (130, "Interrupted.\n")
    assert shown.endswith(f"are in '{out}'. To go on: flexcfl resume {out}\n")


def test_processes_whose_parent_is_killed_keep_their_last_rounds(tmp_path: Path) -> None:
    out = tmp_path / "out"
    endless = ["fedavg", "--seeds", "2", "--jobs", "2", "--rounds", "1000000"]
    with started("compare", *endless, "--out", str(out)) as command:
        wait_for(out, "fedavg-seed0/rounds.csv", command)
        wait_for(out, "fedavg-seed1/rounds.csv", command)
        command.kill()
        command.communicate(timeout=PATIENCE)  # would not end before they do
    assert not list(out.rglob("*.part"))
    for seed in range(2):
        check_last_round_is_kept(out / f"fedavg-seed{seed}")


def times(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


@pytest.mark.parametrize("again", ["resume", "compare"])
def test_what_is_complete_is_shown_and_nothing_is_run(
    again: str, whole: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subprocess, "Popen", None)
    before = times(whole)
    words = [again, str(whole)] if again == "resume" else [again, *WORDS, "--out", str(whole)]
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert re.search(r"^resumed +4 of 4 runs were complete already$", shown, re.M)
    assert re.search(r"^ ifca +\d+\.\d ", shown, re.M)
    # The folder itself has had a lock in it.
    assert {path: time for path, time in times(whole).items() if path != whole} == before


def test_with_data_of_ones_own_the_same_call_goes_on(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    snapshot: Snapshot,
) -> None:
    settings: dict[str, Any] = {"seeds": 2, "rounds": 20, "jobs": 1}

    def broken_off(*words: Any) -> Iterator[Event | None]:
        for event in worker_pool.run_in_processes(*words):
            yield event
            if event and isinstance(event[1], Done):
                raise KeyboardInterrupt

    monkeypatch.setattr(running, "run_in_processes", broken_off)
    monkeypatch.setattr(worker_pool, "WorkerProcess", Here)
    with pytest.raises(KeyboardInterrupt):
        api.compare(["fedavg"], dataset=federation(), out=tmp_path / "out", **settings)
    monkeypatch.setattr(running, "run_in_processes", worker_pool.run_in_processes)
    before = times(tmp_path / "out" / "fedavg-seed0")
    with pytest.raises(SettingsError, match="holds another comparison, of other data"):
        api.compare(["fedavg"], dataset=federation(1), out=tmp_path / "out", **settings)
    assert main(["resume", str(tmp_path / "out")]) == 2
    assert "resume it there with flexcfl.compare" in capsys.readouterr().err
    found = api.compare(["fedavg"], dataset=federation(), out=tmp_path / "out", **settings)
    assert times(tmp_path / "out" / "fedavg-seed0") == before
    other = api.compare(["fedavg"], dataset=federation(), out=tmp_path / "other", **settings)
    assert np.array_equal(found.curves["fedavg"], other.curves["fedavg"], equal_nan=True)
    assert snapshot(tmp_path / "out") == snapshot(tmp_path / "other")
