"""Processes that are really killed, at random moments."""

import os
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.reliability.children import Child, Children
from tests.reliability.small import FLEXCFL, KINDS, Kind, Output, differences, words

# A crash at each call is also tested within one process, in test_crash_points.py.
pytestmark = pytest.mark.slow

MANY_ROUNDS = 25


def longer(kind: Kind, out: Path) -> list[str]:
    """Return the command of a run of about a second, a good part of which goes to checkpoints."""
    data = {"data.clients": 40, "data.features": 400, "data.examples": 60}
    more = {**data, "run.checkpoint_rounds": 3}
    return words(kind, out, rounds=MANY_ROUNDS, cohort=10, **more)


def killed(child: Child, folder: Path, rng: np.random.Generator, longest: float) -> bool:
    """Kill a run some time after its first checkpoint; return whether it had not ended before."""
    # Every fourth one is killed only after it has saved a new checkpoint.
    before = max(saved(folder), default=-1) if rng.integers(4) == 0 else -1
    _wait(child, lambda: max(saved(folder), default=-1) > before)
    time.sleep(rng.uniform(0, longest))
    if rng.integers(4) == 0:  # some of the kills are for the short moments of writing
        _wait(child, lambda: writing(folder))
    child.send(signal.SIGKILL)
    code = child.wait()
    assert code in (0, -signal.SIGKILL), child.err.read_text()
    return code != 0


def _wait(child: Child, reached: Callable[[], bool]) -> None:
    while not child.ended() and not reached():
        os.sched_yield()


def phase(folder: Path, started: int) -> str:
    """Return what a process that was ``started`` then was doing when it was killed."""
    newest, rounds = max(saved(folder), default=0), folder / "rounds.csv"
    new = [path.name for path in folder.rglob("*") if path.stat().st_mtime_ns > started]
    if (folder / "summary.json").exists():
        return "removing what is no longer needed"
    if any(folder.glob(".*.part")) or "clients.csv" in new:
        return "writing what came of it"
    if not {*new} - {".lock"}:
        return "finding the run again"
    arrays = [int(re.sub(r"\D", "", name)) for name in new if "arrays-" in name]
    if any(name.endswith(".part") for name in new) or max(arrays, default=0) > newest:
        return "writing a checkpoint"
    lines = rounds.read_bytes().count(b"\n") if rounds.exists() else 1
    return (
        "after a round not yet saved" if lines - 1 > newest else "in the round after a checkpoint"
    )


def saved(folder: Path) -> list[int]:
    """Return the rounds with checkpoints, even if a process is about to remove them."""
    try:
        names = os.listdir(folder / "checkpoints")  # noqa: PTH208  (asked again and again)
    except FileNotFoundError:
        return []
    found = (re.fullmatch(r"round-(\d+)\.json", name) for name in names)
    return [int(each[1]) for each in found if each]


def writing(folder: Path) -> bool:
    """Whether some file is just being written, or was when a process was killed."""
    return any(name.endswith(".part") for *_, names in os.walk(folder) for name in names)


def killed_until(
    kills: int, kind: Kind, children: Children, place: Path, rng: np.random.Generator
) -> Counter[str]:
    """Kill and resume runs until this number of kills; all runs end in the same way."""
    place.mkdir()
    began, reference = time.monotonic(), place / "reference"
    assert children.start(*longer(kind, reference)).wait() == 0
    longest = (time.monotonic() - began) * 0.6
    phases: Counter[str] = Counter()
    while phases.total() < kills:
        folder = place / f"run {len(list(place.iterdir()))}"
        started, child = time.time_ns(), children.start(*longer(kind, folder))
        while phases.total() < kills and killed(child, folder, rng, longest):
            phases[phase(folder, started)] += 1
            started, child = time.time_ns(), children.start("resume", "-q", str(folder))
        assert child.wait() == 0, child.err.read_text()
        assert differences(folder, reference) == []
    return phases


@KINDS
def test_fifty_kills_at_random_moments(
    kind: Kind,
    children: Children,
    tmp_path: Path,
    capsys: Output,
) -> None:
    rng = np.random.default_rng(50)
    phases = killed_until(50, kind, children, tmp_path / "runs", rng)
    with capsys.disabled():
        sys.stdout.write(f"\n50 kills of {kind[0]}: {dict(phases)}\n")
    assert len(phases) >= 2, phases


def test_a_lock_that_a_killed_process_has_left_refuses_nobody(
    children: Children, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    child = children.start(*longer(FLEXCFL, folder))
    _wait(child, lambda: max(saved(folder), default=0) >= 1)
    child.send(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    assert (folder / ".lock").exists()
    again = children.start("resume", "-q", str(folder))
    assert again.wait() == 0, again.err.read_text()
    assert not (folder / ".lock").exists()


def test_of_two_processes_in_one_folder_the_second_is_refused(
    children: Children, tmp_path: Path
) -> None:
    folder, reference = tmp_path / "run", tmp_path / "reference"
    assert children.start(*longer(FLEXCFL, reference)).wait() == 0
    first = children.start(*longer(FLEXCFL, folder))
    for number in (1, 8):
        _wait(first, lambda: max(saved(folder), default=0) >= number)  # noqa: B023
        first.send(signal.SIGSTOP)  # so that it is still at work when the second one comes
        second = children.start("resume", str(folder))
        assert second.wait() == 2
        said = second.err.read_text()
        assert said.startswith(f"Error: Another process is using '{folder}'"), said
        assert said.count("\n") == 1
        if number == 1:  # and now the same while it is a resumed run that is at work
            first.send(signal.SIGKILL)
            first.wait()
            first = children.start("resume", "-q", str(folder))
        else:
            first.send(signal.SIGCONT)
    assert first.wait() == 0, first.err.read_text()
    assert differences(folder, reference) == []
