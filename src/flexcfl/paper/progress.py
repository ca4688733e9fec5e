"""What is shown of a reproduction while it goes on: the whole matrix, cell by cell."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from time import monotonic

import numpy as np
from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from flexcfl.comparison.live import View, watched
from flexcfl.comparison.messages import Done, Event, Work
from flexcfl.comparison.progress import Progress
from flexcfl.paper.cells import Cell

__all__ = ["shown"]

ROOM = 6  # lines of a terminal that are not the matrix


def shown(
    events: Iterator[Event | None],
    cells: Sequence[Cell],
    console: Console,
    now: Callable[[], float] = monotonic,
) -> Iterator[Event]:
    """Hand on the events, each once it is shown; ``now`` is a clock."""
    matrix = _Matrix(cells, console, now)
    return watched(events, View(matrix.take, matrix.drawn, matrix.line, now), console)


@dataclass
class _Matrix:
    """How far each cell is: settings by methods, all seeds of a cell together."""

    cells: Sequence[Cell]
    console: Console
    now: Callable[[], float]
    best: dict[str, float] = field(default_factory=dict)
    last: Cell | None = None  # the one that was finished last

    def __post_init__(self) -> None:
        self.by_folder = {cell.folder: cell for cell in self.cells}
        self.progress = Progress(self.cells, self._cost, self.now)

    def _cost(self, run: Work) -> float:
        return self.by_folder[run.folder].part.row.cost

    def take(self, event: Event) -> None:
        """Take note of an event."""
        self.progress.take(event)
        run, what = event
        if isinstance(what, Done):
            self.last = self.by_folder[run.folder]
            if not np.isnan(what.accuracy).all():
                self.best[run.folder] = float(np.nanmax(what.accuracy))

    def line(self) -> str:
        """Return one line: how far all is, and which cell was finished last."""
        words = self.progress.text()
        if self.last is None:
            return words
        part, best = self.last.part, self.best.get(self.last.folder)
        accuracy = "" if best is None else f" {best:.1%}"
        return f"{words}; last {part.setting}, {part.name}, seed {self.last.seed}{accuracy}"

    def drawn(self) -> Group:
        """Return the matrix; on a low terminal, settings that are finished are left out."""
        names = list(dict.fromkeys(cell.part.name for cell in self.cells))
        settings = list(dict.fromkeys(cell.part.setting for cell in self.cells))
        room = max(1, self.console.height - ROOM)
        if len(settings) > room:
            settings = [name for name in settings if not self._complete(name)]
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        table.add_column("how far, and best in %")
        for name in names:
            table.add_column(name, justify="right")
        for setting in settings[:room]:
            table.add_row(setting, *(self._shown(setting, name) for name in names))
        return Group(table, Text(self.progress.text()))

    def _complete(self, setting: str) -> bool:
        mine = [cell for cell in self.cells if cell.part.setting == setting]
        return all(self.progress.rounds.get(cell.folder, 0) == cell.rounds for cell in mine)

    def _shown(self, setting: str, name: str) -> Text:
        mine = [
            cell for cell in self.cells if (cell.part.setting, cell.part.name) == (setting, name)
        ]
        if not mine:
            return Text("")
        best = [self.best[cell.folder] for cell in mine if cell.folder in self.best]
        done = sum(self.progress.rounds.get(cell.folder, 0) for cell in mine)
        share = done / sum(cell.rounds for cell in mine)
        if share == 1:
            return Text(f"{fmean(best):.1%}"[:-1] if best else "-", style="bold")
        return Text(f"{share:.0%}" if done else ".", style="dim")
