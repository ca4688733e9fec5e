"""The view while runs are in progress: a live table on a terminal, plain lines elsewhere."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import TypeAlias

from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from flexcfl.comparison.progress import ComparisonProgress, clock
from flexcfl.comparison.worker_messages import Done, Event, RunSpec
from flexcfl.lines import tell

SILENCE = 10.0  # without a terminal, print a line at least this often, in seconds
BAR = 20  # columns

Take: TypeAlias = Callable[[Event | None], None]  # None is a tick without an event


@dataclass
class ProgressView:
    """A view of the progress: ``take`` records an event, ``drawn`` and ``line`` show the state."""

    take: Callable[[Event], None]
    drawn: Callable[[], RenderableType]
    line: Callable[[], str]
    now: Callable[[], float] = monotonic

    def __post_init__(self) -> None:
        self._last = self.now()

    def print_line(self, event: Event | None, console: Console) -> None:
        """Print a line when a run is done, or if there was none for a while."""
        over = event is not None and isinstance(event[1], Done) and not event[1].before
        if over or self.now() - self._last > SILENCE:
            self._last = self.now()
            tell(self.line(), console)


@contextmanager
def live_display(view: ProgressView, console: Console) -> Iterator[Take]:
    """Yield a function that takes events, and show them.

    With a quiet console nothing is written, not even to the standard output.
    """

    def take(event: Event | None) -> None:
        if event is not None:
            view.take(event)
        if not (console.quiet or console.is_terminal):
            view.print_line(event, console)

    if console.quiet or not console.is_terminal:
        yield take
        return
    # Drawn four times a second, and cleared at the end to make room for the results.
    with Live(console=console, get_renderable=view.drawn, transient=True):
        yield take


def with_live_display(
    events: Iterator[Event | None], view: ProgressView, console: Console
) -> Iterator[Event]:
    """Yield each event after it is shown."""
    with live_display(view, console) as take:
        for event in events:
            take(event)
            if event is not None:
                yield event


def progress_view(runs: Sequence[RunSpec]) -> ProgressView:
    """Return the view of a comparison, algorithm by algorithm."""
    progress = ComparisonProgress(runs)
    return ProgressView(progress.take, partial(_table, progress), partial(_line, progress))


def _table(progress: ComparisonProgress) -> Group:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("algorithm")
    table.add_column("rounds", justify="right")
    table.add_column()
    table.add_column("accuracy now", justify="right")
    table.add_column("time", justify="right")
    for name in progress.algorithms:
        done, rounds = progress.rounds_of(name)
        bar = ProgressBar(total=rounds, completed=done, width=BAR)
        seconds = progress.seconds_of(name)
        time = "" if seconds is None else clock(seconds)
        table.add_row(name, f"{done}/{rounds}", bar, _accuracy(progress, name), time)
    return Group(table, Text(progress.text()))


def _line(progress: ComparisonProgress) -> str:
    """Return one line: the overall progress, then each algorithm's rounds and accuracy."""
    parts = []
    for name in progress.algorithms:
        done, rounds = progress.rounds_of(name)
        parts.append(f"{name} {done}/{rounds} {_accuracy(progress, name)}".rstrip())
    return f"{progress.text()}: {', '.join(parts)}"


def _accuracy(progress: ComparisonProgress, algorithm: str) -> str:
    accuracy = progress.accuracy_of(algorithm)
    if accuracy is not None:
        return f"{accuracy:.1%}"
    done, _ = progress.rounds_of(algorithm)
    return "starting" if progress.seconds_of(algorithm) is not None and not done else ""
