"""What ``flexcfl federate`` shows of a run, which it follows in the run's folder."""

import io
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from flexcfl.errors import FlexcflError, TrainingError
from flexcfl.experiment.layers import options_layer
from flexcfl.flower.local import federate as local_run
from flexcfl.flower.local.federation import FederationPlan
from flexcfl.flower.local.run_progress import RunProgress
from flexcfl.record.tables import RoundFigures
from flexcfl.runner.console_run import run_experiment as conduct_here

pytest.importorskip("flwr")

WORDS = options_layer({}, {"data.clients": 10, "run.cohort": 4, "run.rounds": 3, "local.epochs": 1})


def screen(*, terminal: bool = False, quiet: bool = False) -> Console:
    return Console(
        file=io.StringIO(), force_terminal=terminal, width=1000, color_system=None, quiet=quiet
    )


def written(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


class Acted:
    """A federation without processes: its run copies the folder of another, round by round."""

    model: Path
    before = 0
    error: BaseException | None = None  # after the first round

    def __init__(self, plan: FederationPlan, _: object) -> None:
        self.folder, self.progress = plan.folder, RunProgress(plan.folder)

    def __enter__(self) -> "Acted":
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def begin(self) -> int:
        self.progress.skip(self.before)
        return self.before

    def rounds(self) -> Iterator[RoundFigures]:
        head, *lines = (self.model / "rounds.csv").read_text().splitlines(keepends=True)
        for number in range(1, len(lines) + 1):
            (self.folder / "rounds.csv").write_text("".join([head, *lines[:number]]))
            yield from self.progress.new_rounds()
            if self.error:
                raise self.error
        shutil.copytree(self.model, self.folder, dirs_exist_ok=True)


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """Return the folder of a run in this process, and the lines that were shown of it."""
    folder, console = tmp_path_factory.mktemp("runs") / "run", screen()
    conduct_here([WORDS], console, folder=folder)
    return folder, written(console).splitlines()


@pytest.fixture(autouse=True)
def acted(monkeypatch: pytest.MonkeyPatch, here: tuple[Path, list[str]]) -> type[Acted]:
    class Mine(Acted):
        model = here[0]

    monkeypatch.setattr(local_run, "LocalFederation", Mine)
    return Mine


def without(lines: list[str], *names: str) -> list[str]:
    return [line for line in lines if line.split()[0] not in names]


def test_it_is_what_is_shown_of_a_run_in_this_process(
    tmp_path: Path, here: tuple[Path, list[str]]
) -> None:
    console = screen()
    local_run.federate(None, WORDS, console, out=tmp_path / "run")
    lines, expected = written(console).splitlines(), here[1]
    assert f"folder       {tmp_path / 'run'}" == lines[-1]
    assert "sizes        10 clients, 2 nodes, 650 parameters" in "\n".join(lines)
    assert "checkpoint_rounds 1 (network)" in "\n".join(lines)
    lines.remove("Starting a SuperLink and 2 SuperNodes")
    other = ("network", "run", "sizes", "folder")  # what nodes and checkpoints there are
    assert without(lines, *other) == without(expected, *other)


def test_on_a_terminal_it_is_a_bar(tmp_path: Path) -> None:
    console = screen(terminal=True)
    local_run.federate(None, WORDS, console, out=tmp_path / "run")
    assert "round 0/3" in written(console)
    assert "round 3/3" in written(console)


def test_a_quiet_console_stays_quiet(tmp_path: Path) -> None:
    console = screen(quiet=True)
    local_run.federate(None, WORDS, console, out=tmp_path / "run")
    assert written(console) == ""


def test_who_goes_on_is_told_from_where(tmp_path: Path, acted: type[Acted]) -> None:
    run, console = tmp_path / "run", screen()
    acted.error = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        local_run.federate(None, WORDS, console, out=run)
    assert written(console).endswith(
        f"The rounds so far are in '{run}'. To go on: flexcfl resume {run}\n"
    )
    shutil.copy(acted.model / "experiment.toml", run)
    acted.error, acted.before, console = None, 1, screen()
    local_run.resume_local(run, console)
    lines = written(console).splitlines()
    assert "resumed      after round 1 of 3" in lines
    assert [line[:9] for line in lines if line.startswith("round ")] == ["round 2/3", "round 3/3"]


@pytest.mark.parametrize(
    ("error", "further"),
    [
        (FlexcflError("It is wrong: correct it."), ""),  # and would be again
        (TrainingError("The SuperLink has ended 6 times."), " To go on: flexcfl resume {run}"),
    ],
)
def test_a_run_that_fails_says_where_its_rounds_are(
    tmp_path: Path, acted: type[Acted], error: Exception, further: str
) -> None:
    run, console = tmp_path / "run", screen()
    acted.error = error
    with pytest.raises(type(error), match=str(error)):
        local_run.federate(None, WORDS, console, out=run)
    last = f"The rounds so far are in '{run}'.{further.format(run=run)}"
    assert written(console).splitlines()[-1] == last
