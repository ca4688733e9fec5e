"""A page that follows runs, in a real browser: while they go on, are killed, resumed and ended."""

import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from flexcfl.cli import main
from flexcfl.report.page.serving import address
from tests.report.browsing import PATIENCE, choose, until_drawn
from tests.report.folders import construct
from tests.report.served import served
from tests.waiting import until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROUNDS = 150
RUN = ("run", "--quiet", "--rounds", str(ROUNDS), "--set", "run.checkpoint_rounds=5")
LEFT = ("rounds.csv", "groups.csv", "membership.csv", "shifts.csv", "clients.csv")


@pytest.fixture
def start() -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Start commands of flexcfl in processes of their own, which do not outlive the test."""
    children: list[subprocess.Popen[str]] = []

    def started(*words: str | Path) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", "flexcfl", *map(str, words)]
        children.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        return children[-1]

    yield started
    for child in children:
        child.kill()
        child.communicate()


@pytest.fixture(scope="module")
def unwatched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unwatched") / "run"
    assert main([*RUN, "--out", str(folder)]) == 0
    return folder


@contextmanager
def visiting(browser: "Browser", where: str) -> Iterator["Page"]:
    context = browser.new_context()
    try:
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.goto(where)
        yield page
    finally:
        context.close()


def rounds_written(folder: Path) -> int:
    file = folder / "rounds.csv"
    return max(file.read_bytes().count(b"\n") - 1, 0) if file.exists() else 0


def halted_after(run: "subprocess.Popen[str]", folder: Path, rounds: int) -> None:
    """Stop the clock of a run, so that it does not matter how long anything takes here."""
    until(lambda: rounds_written(folder) >= rounds)
    run.send_signal(signal.SIGSTOP)
    assert run.poll() is None
    assert not (folder / "summary.json").exists()


def watched(
    start: Callable[..., "subprocess.Popen[str]"], folder: Path
) -> tuple["subprocess.Popen[str]", str]:
    process = start("watch", folder, "--port", "0")
    assert process.stdout is not None
    found = re.search(r"http://127\.0\.0\.1:\d+/", process.stdout.readline())
    assert found is not None
    return process, found[0]


def round_shown(page: "Page") -> int:
    found = re.match(rf"round (\d+) of {ROUNDS}", page.locator("#status").inner_text())
    return int(found[1]) if found else 0


def said(page: "Page", words: str) -> None:
    page.locator("#status", has_text=words).wait_for()


def check_same(run: Path, unwatched: Path) -> None:
    models = sorted(path.relative_to(unwatched) for path in unwatched.glob("models/*"))
    assert models
    for name in [*map(Path, LEFT), *models]:
        assert (run / name).read_bytes() == (unwatched / name).read_bytes(), name


@pytest.mark.slow
def test_a_page_follows_a_run_that_is_killed_and_resumed(
    browser: "Browser",
    start: Callable[..., "subprocess.Popen[str]"],
    unwatched: Path,
    tmp_path: Path,
) -> None:
    folder = tmp_path / "run"
    run = start(*RUN, "--out", folder)
    halted_after(run, folder, 3)
    with served([folder]) as serving, visiting(browser, address(serving)) as page:
        until_drawn(page)
        said(page, "live")
        page.evaluate("document.title = 'never loaded again'")
        first = rounds_written(folder)
        assert round_shown(page) == first
        run.send_signal(signal.SIGCONT)
        halted_after(run, folder, first + 5)
        until(lambda: round_shown(page) == rounds_written(folder))
        run.kill()
        run.wait()
        assert not (folder / "summary.json").exists()
        page.wait_for_timeout(2500)
        assert f"of {ROUNDS}, live" in page.locator("#status").inner_text()
        assert main(["resume", str(folder), "--quiet"]) == 0
        said(page, "finished")
        until_drawn(page)
        assert page.title() == "never loaded again"
        assert page.locator("tbody td").nth(5).inner_text() == str(ROUNDS)
    check_same(folder, unwatched)


@pytest.mark.slow
def test_a_run_does_not_notice_that_nobody_watches_it_any_more(
    browser: "Browser",
    start: Callable[..., "subprocess.Popen[str]"],
    unwatched: Path,
    tmp_path: Path,
) -> None:
    folder = tmp_path / "run"
    run = start(*RUN, "--out", folder)
    halted_after(run, folder, 3)
    watching, where = watched(start, folder)
    with visiting(browser, where) as page:
        until_drawn(page)
        watching.send_signal(signal.SIGTERM)
        assert watching.wait() == 128 + signal.SIGTERM
        run.send_signal(signal.SIGCONT)
        said(page, "the server no longer answers")
        assert page.locator("#overview figure").count() == 4
    assert run.wait() == 0
    check_same(folder, unwatched)


@pytest.mark.slow
def test_runs_that_are_added_appear_and_what_is_chosen_stays(
    browser: "Browser", tmp_path: Path
) -> None:
    construct(tmp_path / "runs" / "m", method="middle", clients=9)
    construct(tmp_path / "runs" / "n", method="next", clients=9, groups=1)
    with served([tmp_path / "runs"]) as serving, visiting(browser, address(serving)) as page:
        until_drawn(page)
        choose(page, "Run", "next, seed 0")
        construct(tmp_path / "runs" / "a", method="added", clients=9)
        page.get_by_role("checkbox", name="added").wait_for()
        until_drawn(page)
        assert page.locator("#run option:checked").inner_text() == "next, seed 0"
        assert page.locator("#chart-flows").count() == 0
        assert page.locator("#run option").all_text_contents() == [
            *("added, seed 0", "middle, seed 0", "next, seed 0")
        ]
