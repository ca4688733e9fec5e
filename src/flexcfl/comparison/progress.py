"""A comparison while it goes on: a live table on a terminal, plain lines elsewhere."""

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from flexcfl.comparison.messages import Done
from flexcfl.comparison.plan import Planned
from flexcfl.comparison.pool import Event
from flexcfl.comparison.standing import Standing, clock

__all__ = ["shown"]

SILENCE = 10.0  # without a terminal, a line at least after so many seconds
BAR = 20  # columns


def shown(
    events: Iterator[Event | None], runs: Sequence[Planned], console: Console
) -> Iterator[Event]:
    """Hand on the events, each once it is shown; a quiet console leaves even the output alone."""
    if console.quiet:
        return (event for event in events if event is not None)
    return (_live if console.is_terminal else _lines)(events, Standing(runs), console)


def _live(events: Iterator[Event | None], standing: Standing, console: Console) -> Iterator[Event]:
    # It draws itself anew four times a second, and makes room for the results in the end.
    with Live(console=console, get_renderable=lambda: _drawn(standing), transient=True):
        for event in events:
            if event is not None:
                standing.take(event)
                yield event


def _drawn(standing: Standing) -> Group:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("algorithm")
    table.add_column("rounds", justify="right")
    table.add_column()
    table.add_column("accuracy now", justify="right")
    table.add_column("time", justify="right")
    for name in standing.algorithms():
        done, rounds = standing.rounds(name)
        bar = ProgressBar(total=rounds, completed=done, width=BAR)
        table.add_row(
            name, f"{done}/{rounds}", bar, _accuracy(standing, name), _time(standing, name)
        )
    return Group(table, Text(standing.words()))


def _lines(events: Iterator[Event | None], standing: Standing, console: Console) -> Iterator[Event]:
    last = standing.start
    for event in events:
        if event is not None:
            standing.take(event)
        over = event is not None and isinstance(event[1], Done) and not event[1].before
        if over or standing.now() - last > SILENCE:
            last = standing.now()
            console.print(_line(standing), highlight=False, soft_wrap=True)
        if event is not None:
            yield event


def _line(standing: Standing) -> str:
    """Return one line: how far all is, and for each algorithm its rounds and its accuracy."""
    parts = []
    for name in standing.algorithms():
        done, rounds = standing.rounds(name)
        parts.append(f"{name} {done}/{rounds} {_accuracy(standing, name)}".rstrip())
    return f"{standing.words()}: {', '.join(parts)}"


def _accuracy(standing: Standing, algorithm: str) -> str:
    accuracy = standing.accuracy(algorithm)
    if accuracy is not None:
        return f"{accuracy:.1%}"
    starting = standing.seconds(algorithm) is not None and not standing.rounds(algorithm)[0]
    return "starting" if starting else ""


def _time(standing: Standing, algorithm: str) -> str:
    seconds = standing.seconds(algorithm)
    return "" if seconds is None else clock(seconds)
