"""The comparison with other simulators: its processes, environments and tables."""

import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
import peers
import pytest
import torch
from contestants import environments
from contestants.catalogue import CATALOGUE, Entry
from contestants.errors import ContestantError
from contestants.match import Match
from contestants.process import Answer, Process
from contestants.pytorch import network, scores
from contestants.report import markdown
from contestants.task import Task
from rich.console import Console

from flexcfl.data import Federation, IndexLists
from flexcfl.engine.schedule import draw_batches
from flexcfl.models import build
from flexcfl.protocol import Local
from tests.waiting import PATIENCE

Start = Callable[[str], Process]

CONTESTANT = """
import os, subprocess, sys, time
import numpy as np

PACKAGES = ("numpy",)
print("noise on import")


class Tiny:
    def round(self, number):
        print("noise in a round")
        os.system("echo noise of a child")
        {body}
        return 10

    def scores(self, x):
        return np.eye(10)[np.zeros(len(x), int)]


def run(task, serve):
    serve(Tiny())
"""


@pytest.fixture
def federation() -> Federation:
    """Thirty clients, and ten classes that differ in the brightest row."""
    rng = np.random.default_rng(0)
    y = np.arange(300) % 10
    x = rng.normal(0, 0.1, size=(300, 1, 28, 28)).astype(np.float32)
    x[np.arange(300), 0, y] += 1
    parts = np.split(rng.permutation(270), np.sort(rng.choice(np.arange(1, 270), 29, False)))
    test = [np.arange(270, 300)] + [np.empty(0, np.int64)] * 29
    return Federation("mnist", x, y, IndexLists.of(parts), IndexLists.of(test), 10)


@pytest.fixture
def file(federation: Federation, tmp_path: Path) -> Path:
    path = tmp_path / "federation.npz"
    peers.write(federation, list(peers.WORKS), 2, path)
    return path


@pytest.fixture
def start(file: Path, tmp_path: Path) -> Iterator[Start]:
    """Start a worker with a contestant that does this in every round."""
    (tmp_path / "contestants").mkdir()
    started: list[Process] = []

    def begin(body: str) -> Process:
        name = f"tiny{len(list(tmp_path.glob('contestants/*.py')))}"
        (tmp_path / "contestants" / f"{name}.py").write_text(CONTESTANT.format(body=body))
        code = (
            f"import sys; sys.path.insert(0, {str(tmp_path)!r});"
            f"from contestants.worker import main; sys.exit(main({name!r}, {str(file)!r}, 'mclr'))"
        )
        command = [sys.executable, "-c", code]
        started.append(Process(command, tmp_path / f"{name}.log", timeout=PATIENCE))
        return started[-1]

    yield begin
    for process in started:
        process.end(at_once=True)


@pytest.mark.slow
def test_contestants_of_this_environment_train_and_get_their_table(
    federation: Federation,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(peers, "load_federation", lambda name, folder: federation)
    two = {name: CATALOGUE[name] for name in ("plain", "flexcfl")}
    monkeypatch.setattr(peers, "CATALOGUE", two)
    results = tmp_path / "results.md"
    given = ["--peers", "--works", "mclr", "--rounds", "2", "--results", str(results)]
    peers.main([*given, "--environments", str(tmp_path / "environments")])
    shown = capsys.readouterr().out
    assert shown.strip() in results.read_text(encoding="utf-8")
    times = r"^\| {} .*\| [\d.,]+ \([\d.]+\) \|$"
    reached = r"^\| {} .*\| ([\d.]+) % \|$"
    for name in ("plain PyTorch", "flexcfl"):
        assert re.search(times.format(name), shown, re.M)
        accuracies = [float(value) for value in re.findall(reached.format(name), shown, re.M)]
        assert min(accuracies) > 80
    assert "Notes" not in shown
    assert f"torch {version('torch')}" in shown  # a build may call itself otherwise when imported
    assert list(tmp_path.iterdir()) == [results]


@pytest.mark.parametrize("work", peers.WORKS)
def test_everybody_has_our_networks_and_our_first_model(
    work: str, file: Path, federation: Federation
) -> None:
    task = Task.read(file, work)
    ours = build("mnist", work, federation.shape, federation.classes).eval()
    ours.load_state_dict({n: torch.from_numpy(a) for n, a in task.initial.items()})
    with torch.no_grad():
        expected = ours(torch.from_numpy(federation.x[:5])).numpy()
    np.testing.assert_array_equal(scores(network(task), federation.x[:5]), expected)


def test_steps_are_those_of_our_schedules(file: Path) -> None:
    task = Task.read(file, "mclr")
    local = Local(epochs=task.epochs, batch=task.batch, rate=task.rate)
    rng = np.random.default_rng(0)
    for number in range(2):
        drawn = [draw_batches(task.rows(client), local, rng) for client in task.cohort(number)]
        assert task.steps(number) == sum(len(schedule) for schedule in drawn)


def test_noise_does_not_disturb_the_conversation(start: Start, tmp_path: Path) -> None:
    process = start("os.write(1, b'more')")
    assert process.ready() == {"numpy": np.__version__}
    answer = process.round(1)
    assert (answer.steps, answer.accuracy) == (10, 0.1)
    assert answer.microseconds == pytest.approx(answer.seconds * 1e5)
    process.end(at_once=False)
    log = (tmp_path / "tiny0.log").read_text()
    assert all(noise in log for noise in ("on import", "in a round", "of a child", "more"))


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("raise ValueError('no /home/me/data here')", "ValueError: no data here"),
        ("print('last words'); sys.stdout.flush(); os._exit(3)", "died: last words"),
        ("sys.exit('enough')", "died: enough"),
    ],
)
def test_a_worker_that_dies_says_why(body: str, reason: str, start: Start) -> None:
    process = start(body)
    process.ready()
    with pytest.raises(ContestantError, match=f"^{re.escape(reason)}$"):
        process.round(0)


def test_a_worker_that_hangs_is_ended_with_its_children(start: Start, tmp_path: Path) -> None:
    child = tmp_path / "child"
    begun = f"open({str(child)!r}, 'w').write(str(subprocess.Popen(['sleep', '60']).pid))"
    process = start(f"time.sleep(60) if number else {begun}")
    process.ready()
    process.round(0)
    process.timeout = 0.5
    with pytest.raises(ContestantError, match=r"^took longer than 0\.5 s$"):
        process.round(1)
    process.end(at_once=True)
    assert _gone(int(child.read_text()))


def _gone(process: int) -> bool:
    for _ in range(int(PATIENCE / 0.05)):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        status = Path("/proc", str(process), "stat")
        if status.is_file() and status.read_text().rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.05)
    os.kill(process, signal.SIGKILL)
    return False


def test_who_fails_is_noted_and_the_others_go_on(start: Start) -> None:
    told: list[tuple[str, str]] = []
    match = Match("mclr", lambda name, what: told.append((name, what)))
    bodies = {"good": "pass", "bad": "assert number == 0", "worse": "raise OSError('gone')"}
    match.play({name: partial(start, body) for name, body in bodies.items()}, 2)
    assert match.failures == {"bad": "AssertionError:", "worse": "OSError: gone"}
    assert {name: len(answers) for name, answers in match.answers.items()} == {"good": 2}
    assert told[3:] == [
        *((name, "warm-up") for name in bodies),
        *(("good", "round 1"), ("bad", "round 1")),
        *(("good", "round 2"), ("bad", "round 2")),
    ]


def test_an_interrupted_match_leaves_no_process(start: Start) -> None:
    started: list[Process] = []

    def begin() -> Process:
        started.append(start("pass"))
        return started[-1]

    def tell(name: str, what: str) -> None:
        if (name, what) == ("two", "round 1"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Match("mclr", tell).play({"one": begin, "two": begin}, 2)
    assert [process.popen.poll() is None for process in started] == [False, False]


@pytest.mark.slow
def test_environments_are_made_once_and_can_be_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    folder = tmp_path / "all" / "peer"
    nowhere = Entry("Peer {peer}", "peer", (("no-such-distribution==1",),))
    pythons, absent = peers.install({"peer": nowhere}, folder.parent, Console(quiet=True))
    assert not pythons
    assert re.match("cannot be installed: .*no-such-distribution==1", absent["peer"])
    left = folder / "left"
    left.touch()
    here = (("pip",),)  # which every environment has
    python = environments.ready(folder, here)
    assert not left.exists()  # nothing of the failed one is used
    left.touch()
    assert environments.ready(folder, here) == python
    assert left.exists()
    (tmp_path / "all" / "mine").mkdir()
    assert environments.clean(folder.parent) == ["peer"]
    assert [path.name for path in folder.parent.iterdir()] == ["mine"]


def test_the_report_has_figures_ratios_failures_and_versions() -> None:
    entries = {
        "plain": CATALOGUE["plain"],
        "fast": Entry("Fast {fast}, serial", "fast", note="1 thread"),
        "gone": Entry("Gone {gone}", "gone"),
    }

    def silent(name: str, what: str) -> None:
        return None

    plain = [Answer(seconds, 1000, 0.5) for seconds in (9.0, 0.355, 0.3)]
    one = Match("mclr", silent, {"plain": plain, "fast": [Answer(0.0222, 1000, 0.9)]})
    one.versions = {"plain": {"torch": "2.1+cpu"}, "fast": {"fast": "1.0"}}
    two = Match("cnn", silent, {"plain": [Answer(7.32, 1000, 0.5)]})
    two.failures = {"fast": "took longer than 3 s"}
    shown = markdown(entries, [one, two], peers.WORKS, {"gone": "cannot be installed: no"})
    for line in (
        "| | W1: logistic regression | W3: MNIST CNN |",
        "| plain PyTorch 2.1 loop over clients, 1 thread | 355 (1.0) | 7,320 (1.0) |",
        "| Fast 1.0, serial | 22.2 (0.06) | - |",
        "| Gone | - | - |",
        "| Fast 1.0, serial | 90.0 % | - |",
        "- Fast, serial: 1 thread; W3: MNIST CNN: took longer than 3 s.",
        "- Gone: cannot be installed: no.",
        "- Fast, serial: fast 1.0",
    ):
        assert line in shown.splitlines()


@pytest.mark.parametrize(
    ("reason", "shown"),
    [
        ("No module named 'x.y'", "No module named 'x.y'"),
        ("see /home/me/a.py and 'C:\\Users\\me\\b.py'\nplease", "see a.py and 'b.py' please"),
        ("1/2 of https://pypi.org/simple", "1/2 of https://pypi.org/simple"),
        ("x" * 300, "x" * 199 + "…"),
    ],
)
def test_reasons_are_one_line_without_folders(reason: str, shown: str) -> None:
    assert str(ContestantError(reason)) == shown
