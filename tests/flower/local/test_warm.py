"""Programs that are forks of one process: what they say and how they end is as of the real ones."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("flwr")

from flexcfl.flower.local.commands import FORKED, WARM, Programs
from tests.flower.processes import free_port

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux forks what has libraries"),
]

LIMIT = 60.0  # seconds for what takes a few


def started(program: Path, *words: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [program, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "NO_COLOR": "1", "FLWR_TELEMETRY_ENABLED": "0"},
    )


class Warm:
    """A process of which programs are forks, and where these programs are."""

    def __init__(self, home: Path) -> None:
        self.folder = home / WARM
        self.process = subprocess.Popen(Programs(home, 0).warm())

    def forks(self) -> list[int]:
        """Return all that are forks now."""
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(each) for each in path.read_text().split()]


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warm]:
    warm = Warm(tmp_path_factory.mktemp("home"))
    try:
        end = time.monotonic() + LIMIT
        while not (warm.folder / "door").exists():
            assert time.monotonic() < end
            assert warm.process.poll() is None
            time.sleep(0.05)
        yield warm
    finally:
        warm.process.kill()
        warm.process.wait()


def until_forks(warm: Warm, number: int) -> list[int]:
    end = time.monotonic() + LIMIT
    while len(warm.forks()) != number:
        assert time.monotonic() < end
        time.sleep(0.05)
    return warm.forks()


@pytest.mark.parametrize(
    ("name", "word", "code"), [*((name, "--help", 0) for name in FORKED), ("flwr", "--wrong", 2)]
)
def test_a_fork_says_and_ends_as_the_program_itself(
    warm: Warm, name: str, word: str, code: int
) -> None:
    real = started(Path(sys.executable).with_name(name), word)
    fork = started(warm.folder / name, word)
    assert fork.communicate(timeout=LIMIT) == real.communicate(timeout=LIMIT)
    assert fork.returncode == real.returncode == code


def lasting(warm: Warm) -> "subprocess.Popen[str]":
    """Start a program that waits for somebody who never comes."""
    there = ["--runtime-api-address", f"127.0.0.1:{free_port()}"]
    return started(warm.folder / "flower-superexec", "--insecure", *there)


def test_a_fork_ends_with_who_has_asked_for_it(warm: Warm) -> None:
    with lasting(warm) as asker:
        until_forks(warm, 1)
        asker.kill()
    until_forks(warm, 0)


def test_who_has_asked_ends_with_a_fork_that_was_killed(warm: Warm) -> None:
    with lasting(warm) as asker:
        (fork,) = until_forks(warm, 1)
        os.kill(fork, signal.SIGKILL)
        assert asker.wait(LIMIT) == 1
    assert not warm.forks()
