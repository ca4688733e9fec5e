"""Programs that are forks of one process: what they say and how they end is as of the real ones."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from flower_faults import processes

pytest.importorskip("flwr")

from flexcfl.flower.local.programs import FORK_SERVER, FORKED, Programs, free_port
from tests.waiting import PATIENCE, until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.processes,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux forks what has libraries"),
]


@contextmanager
def started(*words: str | Path) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "NO_COLOR": "1", "FLWR_TELEMETRY_ENABLED": "0"},
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


class Warm:
    """A process of which programs are forks, and where these programs are."""

    def __init__(self, home: Path) -> None:
        self.folder = home / FORK_SERVER
        self.process = subprocess.Popen(Programs(home, 0).fork_server(), start_new_session=True)

    def forks(self) -> list[int]:
        """Return all that are forks now."""
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(each) for each in path.read_text().split()]


@pytest.fixture(scope="module")
def running() -> Iterator[Warm]:
    with tempfile.TemporaryDirectory(prefix="test-") as home:  # short enough for a socket in it
        warm = Warm(Path(home))
        try:
            until((warm.folder / "door").exists)
            yield warm
        finally:
            warm.process.kill()
            warm.process.wait()


@pytest.fixture
def warm(running: Warm) -> Warm:
    """Hand it out once the forks of the test before are gone."""
    until_forks(running, 0)
    return running


def until_forks(warm: Warm, number: int) -> list[int]:
    until(lambda: len(warm.forks()) == number)
    return warm.forks()


@pytest.mark.parametrize(
    ("name", "word", "code"),
    [(name, "--wrong", 2) if name == "flwr" else (name, "--help", 0) for name in FORKED],
)
def test_a_fork_says_and_ends_as_the_program_itself(
    warm: Warm, name: str, word: str, code: int
) -> None:
    with (
        started(Path(sys.executable).with_name(name), word) as real,
        started(warm.folder / name, word) as fork,
    ):
        assert fork.communicate(timeout=PATIENCE) == real.communicate(timeout=PATIENCE)
        assert fork.returncode == real.returncode == code


def lasting(programs: Path) -> list[str | Path]:
    """Return the words of a program that waits for somebody who never comes."""
    there = f"127.0.0.1:{free_port()}"
    return [programs / "flower-superexec", "--insecure", "--runtime-api-address", there]


def test_a_fork_ends_with_who_has_asked_for_it(warm: Warm) -> None:
    with started(*lasting(warm.folder)) as asker:
        until_forks(warm, 1)
        asker.kill()
    until_forks(warm, 0)


def test_a_fork_ends_with_who_has_started_the_program(warm: Warm) -> None:
    with started("sh", "-c", '"$@" & wait', "sh", *lasting(warm.folder)) as starter:
        until_forks(warm, 1)
        starter.kill()
        until_forks(warm, 0)


def test_it_ends_with_all_forks_when_who_has_started_it_is_gone(tmp: Path) -> None:
    programs = Programs(tmp, 0)
    door, command = str(programs.door), programs.fork_server()
    with started("sh", "-c", 'setsid "$@" & wait', "sh", *command) as starter:
        until(programs.door.exists)
        heads = [
            pid for pid, (group, words) in processes().items() if group == pid and door in words
        ]
        (group,) = set(heads) - {starter.pid}
        with started(*lasting(tmp / FORK_SERVER)) as asker:
            until(lambda: members(group) == 2)
            starter.kill()
            until(lambda: members(group) == 0)
            assert asker.wait(PATIENCE) == 1


def members(group: int) -> int:
    return sum(each == group for each, _ in processes().values())


def test_who_has_asked_ends_with_a_fork_that_was_killed(warm: Warm) -> None:
    with started(*lasting(warm.folder)) as asker:
        (fork,) = until_forks(warm, 1)
        os.kill(fork, signal.SIGKILL)
        assert asker.wait(PATIENCE) == 1
    until_forks(warm, 0)
