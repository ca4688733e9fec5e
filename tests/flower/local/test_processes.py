"""Processes that never outlive who started them, however that ended."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from flexcfl.flower.local.processes import LocalProcesses
from tests.waiting import until

# What is started starts something itself, as a SuperNode does.
FAMILY = ["sh", "-c", "sleep 600 & echo $! >&2; wait"]
PROGRAM = """
import os, sys, time
from pathlib import Path
from flexcfl.flower.local.processes import LocalProcesses
logs, folder = Path(sys.argv[1]), Path(sys.argv[2])
with LocalProcesses(dict(os.environ), logs, folder) as processes:
    print(processes.start("family", sys.argv[3:]).pid, flush=True)
    time.sleep(600)
"""


def alive(pid: int) -> bool:
    """Whether a process runs; one that only nobody has asked after does not."""
    words = ["ps", "-o", "stat=", "-p", str(pid)]
    state = subprocess.run(words, capture_output=True, text=True).stdout.strip()
    return bool(state) and not state.startswith("Z")


def child(logs: Path) -> int:
    file = logs / "family.log"
    until(lambda: file.exists() and file.read_text().endswith("\n"))
    return int(file.read_text())


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir()
    return folder


def test_a_process_ends_with_all_that_it_started(logs: Path, tmp_path: Path) -> None:
    with LocalProcesses(dict(os.environ), logs, tmp_path / "none") as processes:
        family = processes.start("family", FAMILY)
        below = child(logs)
        assert family.end is None
        assert alive(below)
        processes.end(family)
        until(lambda: not alive(below))
        assert family.end == "signal 9"


def test_what_a_process_left_behind_that_was_killed_is_ended(logs: Path, tmp_path: Path) -> None:
    with LocalProcesses(dict(os.environ), logs, tmp_path / "none") as processes:
        family = processes.start("family", FAMILY)
        below = child(logs)
        os.kill(family.pid, signal.SIGKILL)
        until(lambda: family.end is not None)
        assert alive(below)
        processes.end(family)
        until(lambda: not alive(below))


def test_all_end_with_the_block_also_by_an_error(logs: Path, tmp_path: Path) -> None:
    started: list[int] = []

    def work() -> None:
        with LocalProcesses(dict(os.environ), logs, tmp_path / "none") as processes:
            started.extend([processes.start("family", FAMILY).pid, child(logs)])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    until(lambda: not any(map(alive, started)))
    assert len(started) == 2


def test_all_end_if_who_started_them_is_killed(logs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "private"
    folder.mkdir()
    words = [sys.executable, "-c", PROGRAM, str(logs), str(folder), *FAMILY]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        family = int(program.stdout.readline())
        below = child(logs)
        assert alive(family)
        program.kill()
    until(lambda: not alive(family) and not alive(below) and not folder.exists())
