"""The progress of a run: a bar on a terminal, plain lines elsewhere."""

from collections.abc import Iterator
from math import inf
from time import monotonic
from typing import Any, Protocol, TypeVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Column

from flexcfl.lines import tell
from flexcfl.record.tables import RoundFigures

NARROW = 72  # a terminal with fewer columns shows only the figures
STEPS = 10  # without a terminal, print a line at each tenth of the rounds
SILENCE = 10.0  # or after this many seconds without a line


class _Done(Protocol):
    """A finished round: its figures, and how many clients were present."""

    @property
    def figures(self) -> RoundFigures: ...
    @property
    def present(self) -> int: ...


Shown = TypeVar("Shown", bound=_Done)


def show_rounds(
    rounds: Iterator[Shown], total: int, console: Console, before: int = 0
) -> Iterator[Shown]:
    """Show each round and then yield it; a quiet console shows nothing.

    ``before`` is the number of rounds that an earlier process finished.
    """
    if console.quiet:
        return rounds
    if console.is_terminal:
        return _bar(rounds, total, console, before)
    return _lines(rounds, total, console)


def _bar(rounds: Iterator[Shown], total: int, console: Console, before: int) -> Iterator[Shown]:
    columns = _columns(console.width, total)
    # Estimate the speed from all rounds: rich uses the last 30 seconds by default, and would show
    # no remaining time if a round takes longer.
    with Progress(*columns, console=console, expand=True, speed_estimate_period=inf) as progress:
        task = progress.add_task("", total=total, completed=before, accuracy="", loss="")
        for done in rounds:
            # A figure that this round lacks is not updated: the last accuracy stays.
            progress.update(task, completed=done.figures.round, **_figures(done))
            yield done


def _columns(width: int, total: int) -> list[ProgressColumn]:
    # Without a minimum width, the count would be cut before the bar.
    count = MofNCompleteColumn(table_column=Column(min_width=2 * len(str(total)) + 1))
    bar, left = BarColumn(bar_width=None), TimeRemainingColumn()
    accuracy, loss = TextColumn("{task.fields[accuracy]}"), TextColumn("{task.fields[loss]}")
    if width < NARROW:
        return [count, bar, accuracy, left]
    before, after = TextColumn("round"), TextColumn("left")
    return [before, count, bar, accuracy, loss, TimeElapsedColumn(), left, after]


def _lines(rounds: Iterator[Shown], total: int, console: Console) -> Iterator[Shown]:
    tell(f"training, {total} {'round' if total == 1 else 'rounds'}", console)
    last = monotonic()
    for done in rounds:
        number = done.figures.round
        step = number * STEPS // total > (number - 1) * STEPS // total
        if number == 1 or step or monotonic() - last > SILENCE:
            last = monotonic()
            tell(_line(done, total), console)
        yield done


def _line(done: _Done, total: int) -> str:
    width = len(str(total))
    return "  ".join([f"round {done.figures.round:{width}}/{total}", *_figures(done).values()])


def _figures(done: _Done) -> dict[str, Any]:
    figures, known = done.figures, {}
    if figures.accuracy is not None:
        known["accuracy"] = f"accuracy {figures.accuracy:.1%}"
    elif figures.placed < done.present:  # there is no accuracy until all clients have a group
        known["accuracy"] = f"placed {figures.placed}/{done.present}"
    if figures.loss is not None:
        known["loss"] = f"loss {figures.loss:.3f}"
    return known
