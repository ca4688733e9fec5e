"""What is shown of a comparison while it goes on, algorithm by algorithm."""

from collections.abc import Iterator, Sequence
from functools import partial

from rich import box
from rich.console import Console, Group
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from flexcfl.comparison.advance import clock
from flexcfl.comparison.plan import Planned
from flexcfl.comparison.pool import Event
from flexcfl.comparison.standing import Standing
from flexcfl.comparison.watching import View, watched

__all__ = ["shown"]

BAR = 20  # columns


def shown(
    events: Iterator[Event | None], runs: Sequence[Planned], console: Console
) -> Iterator[Event]:
    """Hand on the events, each once it is shown."""
    standing = Standing(runs)
    view = View(standing.take, partial(_drawn, standing), partial(_line, standing))
    return watched(events, view, console)


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
    return Group(table, Text(standing.advance.words()))


def _line(standing: Standing) -> str:
    """Return one line: how far all is, and for each algorithm its rounds and its accuracy."""
    parts = []
    for name in standing.algorithms():
        done, rounds = standing.rounds(name)
        parts.append(f"{name} {done}/{rounds} {_accuracy(standing, name)}".rstrip())
    return f"{standing.advance.words()}: {', '.join(parts)}"


def _accuracy(standing: Standing, algorithm: str) -> str:
    accuracy = standing.accuracy(algorithm)
    if accuracy is not None:
        return f"{accuracy:.1%}"
    starting = standing.seconds(algorithm) is not None and not standing.rounds(algorithm)[0]
    return "starting" if starting else ""


def _time(standing: Standing, algorithm: str) -> str:
    seconds = standing.seconds(algorithm)
    return "" if seconds is None else clock(seconds)
