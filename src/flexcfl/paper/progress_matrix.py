"""The progress of a reproduction: a matrix of settings by methods."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from time import monotonic

import numpy as np
from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from flexcfl.comparison.live import ProgressView, with_live_display
from flexcfl.comparison.progress import Progress
from flexcfl.comparison.worker_messages import Done, Event
from flexcfl.paper.cells import Cell
from flexcfl.paper.results import group_by

ROOM = 6  # lines of the terminal that the matrix leaves free


def show_matrix(
    events: Iterator[Event | None],
    cells: Sequence[Cell],
    console: Console,
    now: Callable[[], float] = monotonic,
) -> Iterator[Event]:
    """Yield each event after it is shown; ``now`` is a clock."""
    matrix = ProgressMatrix(cells, console, now)
    return with_live_display(
        events, ProgressView(matrix.take, matrix.drawn, matrix.line, now), console
    )


def progress_of(cells: Sequence[Cell], now: Callable[[], float] = monotonic) -> Progress:
    """Return the progress of the cells, with the approximate duration of their rounds as cost."""
    seconds = {cell.folder: cell.part.row.seconds for cell in cells}
    return Progress(cells, lambda run: seconds[run.folder], now)


@dataclass
class ProgressMatrix:
    """The progress of each cell: settings by methods, with all seeds of a cell together."""

    cells: Sequence[Cell]
    console: Console
    now: Callable[[], float]
    best: dict[str, float] = field(default_factory=dict)
    last: Cell | None = None  # the cell that finished last

    def __post_init__(self) -> None:
        self.by_folder = {cell.folder: cell for cell in self.cells}
        self.seeds = group_by(self.cells, lambda cell: (cell.part.setting, cell.part.name))
        self.progress = progress_of(self.cells, self.now)

    def take(self, event: Event) -> None:
        """Record an event."""
        self.progress.take(event)
        run, what = event
        if isinstance(what, Done):
            self.last = self.by_folder[run.folder]
            if not np.isnan(what.accuracy).all():
                self.best[run.folder] = float(np.nanmax(what.accuracy))

    def line(self) -> str:
        """Return one line: the overall progress, and the cell that finished last."""
        words = self.progress.text()
        if self.last is None:
            return words
        part, best = self.last.part, self.best.get(self.last.folder)
        accuracy = "" if best is None else f" {best:.1%}"
        return f"{words}; last {part.setting}, {part.name}, seed {self.last.seed}{accuracy}"

    def drawn(self) -> Group:
        """Return the matrix; if the terminal is too low, without finished settings."""
        names = list(dict.fromkeys(name for _, name in self.seeds))
        settings = group_by(self.cells, lambda cell: cell.part.setting)
        room = max(1, self.console.height - ROOM)
        if len(settings) > room:
            settings = {name: mine for name, mine in settings.items() if self._share(mine) < 1}
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        table.add_column("how far, and best in %")
        for name in names:
            table.add_column(name, justify="right")
        for setting in list(settings)[:room]:
            table.add_row(setting, *(self._shown(setting, name) for name in names))
        return Group(table, Text(self.progress.text()))

    def _share(self, cells: Sequence[Cell]) -> float:
        """Return the fraction of the cells' rounds that are done."""
        done = sum(self.progress.rounds.get(cell.folder, 0) for cell in cells)
        return done / sum(cell.rounds for cell in cells)

    def _shown(self, setting: str, name: str) -> Text:
        mine = self.seeds.get((setting, name), [])
        if not mine:
            return Text("")
        share = self._share(mine)
        if share < 1:
            return Text(f"{share:.0%}" if share else ".", style="dim")
        best = [self.best[cell.folder] for cell in mine if cell.folder in self.best]
        return Text(f"{fmean(best):.1%}"[:-1] if best else "-", style="bold")
