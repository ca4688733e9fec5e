"""What is said while a comparison goes on and when it does not come to its end."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from flexcfl.comparison import running
from flexcfl.comparison.plan import PlannedRun
from flexcfl.comparison.spec import ComparisonSpec
from flexcfl.comparison.worker_messages import Event, Remark
from flexcfl.errors import TrainingError
from flexcfl.experiment.layers import options_layer

SPEC = ComparisonSpec.of(["fedavg", "ifca"], 1, options_layer({}, {}))


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (KeyboardInterrupt(), "To go on: flexcfl resume {out}"),
        (TrainingError("The disk is full."), "Once that is fixed: flexcfl resume {out}"),
    ],
)
def test_it_is_said_what_is_there_and_how_to_go_on(
    error: BaseException, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken_off(runs: tuple[PlannedRun, ...], *_: Any) -> Iterator[Event]:
        (tmp_path / "out" / runs[0].folder).mkdir()
        (tmp_path / "out" / runs[0].folder / "summary.json").touch()
        yield runs[1], Remark("A checkpoint was damaged.")
        raise error

    monkeypatch.setattr(running, "run_in_processes", broken_off)
    screen = io.StringIO()
    with pytest.raises(type(error)):
        running.run_comparison(SPEC, Console(file=screen), jobs=1, folder=tmp_path / "out")
    last = screen.getvalue().splitlines()[-1]
    out = tmp_path / "out"
    assert last == (
        f"1 of 2 runs are complete; they and the rounds so far of others are in '{out}'. "
        + words.format(out=out)
    )


def test_remarks_are_shown_once_even_where_nothing_else_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    remark = Remark("A checkpoint was damaged.")

    def broken_off(runs: tuple[PlannedRun, ...], *_: Any) -> Iterator[Event]:
        yield from ((run, remark) for run in runs)  # of two processes
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "run_in_processes", broken_off)
    with pytest.raises(KeyboardInterrupt):
        running.run_comparison(SPEC, Console(quiet=True), jobs=2, folder=None)
    assert capsys.readouterr() == ("", "A checkpoint was damaged.\n")
