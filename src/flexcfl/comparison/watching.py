"""Runs while they go on: a live view on a terminal, plain lines elsewhere."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import monotonic

from rich.console import Console, RenderableType
from rich.live import Live

from flexcfl.comparison.messages import Done
from flexcfl.comparison.pool import Event
from flexcfl.lines import tell

__all__ = ["View", "watched"]

SILENCE = 10.0  # without a terminal, a line at least after so many seconds


@dataclass(frozen=True)
class View:
    """What is shown: ``take`` takes note of an event, the others show all that was noted."""

    take: Callable[[Event], None]
    drawn: Callable[[], RenderableType]
    line: Callable[[], str]
    now: Callable[[], float] = monotonic


def watched(events: Iterator[Event | None], view: View, console: Console) -> Iterator[Event]:
    """Hand on the events, each once it is shown; a quiet console leaves even the output alone."""
    if console.quiet:
        return (event for event in events if event is not None)
    return (_live if console.is_terminal else _lines)(events, view, console)


def _live(events: Iterator[Event | None], view: View, console: Console) -> Iterator[Event]:
    # It draws itself anew four times a second, and makes room for the results in the end.
    with Live(console=console, get_renderable=view.drawn, transient=True):
        for event in events:
            if event is not None:
                view.take(event)
                yield event


def _lines(events: Iterator[Event | None], view: View, console: Console) -> Iterator[Event]:
    last = view.now()
    for event in events:
        if event is not None:
            view.take(event)
        over = event is not None and isinstance(event[1], Done) and not event[1].before
        if over or view.now() - last > SILENCE:
            last = view.now()
            tell(view.line(), console)
        if event is not None:
            yield event
