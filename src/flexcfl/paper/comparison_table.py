"""A table of our figures and the paper's, as text, Markdown and CSV."""

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from rich import box
from rich.console import Console
from rich.table import Table

from flexcfl.lines import show
from flexcfl.record import csv_tables
from flexcfl.record.metrics import MeanDeviation

OURS, SPREAD, PAPER, DIFFERENCE = "ours", "spread", "paper", "difference"
UNKNOWN = "-"


def difference(one: float | None, other: float | None) -> float | None:
    """Return one minus the other, if both are known."""
    return None if one is None or other is None else one - other


@dataclass(frozen=True)
class Entry:
    """One figure: ours over the seeds, the paper's if it has one, and ``further`` ones of ours.

    ``block`` describes the rows of the entry, one text per line. ``digits`` is the number of
    decimals, or None for three significant digits.
    """

    block: tuple[str, ...]
    column: str
    ours: MeanDeviation
    paper: float | None = None
    further: Mapping[str, MeanDeviation] = field(default_factory=dict)
    digits: int | None = 1

    @property
    def difference(self) -> float | None:
        """Our figure minus the paper's."""
        return difference(self.ours.mean, self.paper)

    def line(self, what: str) -> float | None:
        """Return the figure for the line of this name."""
        own = {OURS: self.ours.mean, SPREAD: self.ours.spread, PAPER: self.paper}
        others = {name: figure.mean for name, figure in self.further.items()}
        return {**own, DIFFERENCE: self.difference, **others}.get(what)

    def shown(self, what: str) -> str:
        """Return a figure as text."""
        value = self.line(what)
        if value is None:
            return UNKNOWN
        plus = "+" if what == DIFFERENCE else ""
        text = format(value, f"{plus},.{self.digits}f" if self.digits is not None else f"{plus}.3g")
        return text.replace("-", plus, 1) if not text.strip("-0.,") else text  # no "-0.0"


@dataclass(frozen=True)
class ComparisonTable:
    """Entries in blocks of lines, with a title and with notes on how to read it.

    If entries are ``scores``, the largest of each block is marked. ``ours`` is the name of the line
    with our figures.
    """

    title: str
    entries: Sequence[Entry]
    notes: Sequence[str] = ()
    scores: bool = False
    ours: str = OURS

    @property
    def columns(self) -> list[str]:
        """The columns, in the order of their first entries."""
        return list(dict.fromkeys(entry.column for entry in self.entries))

    def lines(self, marked: str = "{}") -> Iterator[list[str]]:
        """Yield the lines of the table as lists of cells: block, name of the figure, figures.

        ``marked`` is the format for the largest figure of a block.
        """
        for block in dict.fromkeys(entry.block for entry in self.entries):
            mine = {entry.column: entry for entry in self.entries if entry.block == block}
            most = max(entry.ours.mean or 0.0 for entry in mine.values())
            for word, what in zip_longest(block, self._figures(block), fillvalue=""):
                cells = dict.fromkeys(self.columns, "")
                if what:
                    cells |= {name: entry.shown(what) for name, entry in mine.items()}
                if what == OURS and self.scores:
                    best = (name for name, entry in mine.items() if entry.ours.mean == most)
                    cells |= {name: marked.format(cells[name]) for name in best}
                yield [word, self._named(what), *cells.values()]

    def text(self) -> str:
        """Return the table for a plain file."""
        return "\n".join([self.drawn(), "", *self.notes]) + "\n"

    def drawn(self) -> str:
        """Return the table for a terminal, without its notes."""
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
        for number, name in enumerate(["", "", *self.columns]):
            table.add_column(name, justify="right" if number > 1 else "left", no_wrap=True)
        for line in self.lines():
            table.add_row(*line)
        screen = io.StringIO()
        show(table, Console(file=screen, force_terminal=False))
        return "\n".join([self.title, "", *screen.getvalue().splitlines()])

    def markdown(self) -> str:
        """Return the table as Markdown."""
        rows = [["", "", *self.columns], ["---", "---", *["---:"] * len(self.columns)]]
        lines = [f"| {' | '.join(row)} |" for row in [*rows, *self.lines("**{}**")]]
        notes = [f"- {note}" for note in self.notes]
        return "\n".join([f"# {self.title}", "", *lines, "", *notes]) + "\n"

    def csv(self) -> str:
        """Return a line for each figure."""
        head = ("block", "column", "figure", "value")
        figures = [
            (", ".join(entry.block), entry.column, self._named(what), entry.line(what))
            for entry in self.entries
            for what in self._figures(entry.block)
            if entry.line(what) is not None
        ]
        return csv_tables.to_csv([head, *figures])

    def _named(self, what: str) -> str:
        return self.ours if what == OURS else what

    def _figures(self, block: tuple[str, ...]) -> list[str]:
        """Return the names of the lines of a block, without those that it has no figures for."""
        mine = [entry for entry in self.entries if entry.block == block]
        optional = [SPREAD, PAPER, DIFFERENCE]
        known = [what for what in optional if any(each.line(what) is not None for each in mine)]
        return [OURS, *known, *dict.fromkeys(what for entry in mine for what in entry.further)]
