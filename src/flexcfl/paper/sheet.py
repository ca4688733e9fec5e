"""A table with the paper's figures beside ours, as text, as Markdown and as CSV."""

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from rich import box
from rich.console import Console
from rich.table import Table

from flexcfl.lines import show
from flexcfl.record import csv_lines as tables
from flexcfl.record.metrics import Figure

__all__ = ["Entry", "Sheet"]

OURS, SPREAD, PAPER, DIFFERENCE = "ours", "spread", "paper", "difference"
UNKNOWN = "-"


@dataclass(frozen=True)
class Entry:
    """One figure: ours over the seeds, the paper's where it has one, and further ones of ours.

    ``block`` are the words that say what it is of, one to a line. ``digits`` is how many decimals
    are shown, None for three digits that count.
    """

    block: tuple[str, ...]
    column: str
    ours: Figure
    paper: float | None = None
    beside: Mapping[str, Figure] = field(default_factory=dict)
    digits: int | None = 1

    @property
    def difference(self) -> float | None:
        """How much more ours is than the paper's."""
        known = self.paper is not None and self.ours.mean is not None
        return self.ours.mean - self.paper if known else None  # type: ignore[operator]

    def line(self, what: str) -> float | None:
        """Return the figure of a line, by its name."""
        own = {OURS: self.ours.mean, SPREAD: self.ours.spread, PAPER: self.paper}
        others = {name: figure.mean for name, figure in self.beside.items()}
        return {**own, DIFFERENCE: self.difference, **others}.get(what)

    def shown(self, what: str) -> str:
        """Return a figure as it is printed."""
        figure = self.line(what)
        return UNKNOWN if figure is None else self._number(figure, sign=what == DIFFERENCE)

    def _number(self, value: float, sign: bool = False) -> str:
        plus = "+" if sign else ""
        form = f"{plus},.{self.digits}f" if self.digits is not None else f"{plus}.3g"
        text = format(value, form)
        return text.replace("-", plus, 1) if not text.strip("-0.,") else text  # no minus nought


@dataclass(frozen=True)
class Sheet:
    """Entries in blocks of lines, with a title and with notes on how to read it.

    Where entries are ``scores``, the largest of each block is marked. ``ours`` is what the line of
    our figures is called.
    """

    title: str
    entries: Sequence[Entry]
    notes: Sequence[str] = ()
    scores: bool = False
    ours: str = OURS

    @property
    def columns(self) -> list[str]:
        """The columns, in the order in which they first come."""
        return list(dict.fromkeys(entry.column for entry in self.entries))

    def lines(self) -> list[list[str]]:
        """Return the lines of the table, cell by cell: its block, what it is of, and figures."""
        return list(self._lines("{}"))

    def text(self) -> str:
        """Return the table for a plain file."""
        return "\n".join([self.drawn(), "", *self.notes]) + "\n"

    def drawn(self) -> str:
        """Return the table for a terminal, without its notes."""
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
        for number, name in enumerate(["", "", *self.columns]):
            table.add_column(name, justify="right" if number > 1 else "left", no_wrap=True)
        for line in self._lines("{}"):
            table.add_row(*line)
        screen = io.StringIO()
        show(table, Console(file=screen, force_terminal=False))
        return "\n".join([self.title, "", *screen.getvalue().splitlines()])

    def markdown(self) -> str:
        """Return the table as Markdown."""
        rows = [["", "", *self.columns], ["---", "---", *["---:"] * len(self.columns)]]
        rows += self._lines("**{}**")
        lines = [f"| {' | '.join(row)} |" for row in rows]
        remarks = [f"- {note}" for note in self.notes]
        return "\n".join([f"# {self.title}", "", *lines, "", *remarks]) + "\n"

    def csv(self) -> str:
        """Return a line for each figure."""
        head = ("block", "column", "figure", "value")
        figures = [
            (", ".join(entry.block), entry.column, self._named(what), entry.line(what))
            for entry in self.entries
            for what in self._whats(entry.block)
            if entry.line(what) is not None
        ]
        return tables.written([head, *figures])

    def _named(self, what: str) -> str:
        return self.ours if what == OURS else what

    def _whats(self, block: tuple[str, ...]) -> list[str]:
        """Return the lines that a block has: of our own figures and the paper's all that it has."""
        mine = [entry for entry in self.entries if entry.block == block]
        optional = [SPREAD, PAPER, DIFFERENCE]
        known = [what for what in optional if any(each.line(what) is not None for each in mine)]
        return [OURS, *known, *dict.fromkeys(what for entry in mine for what in entry.beside)]

    def _lines(self, marked: str) -> Iterator[list[str]]:
        for block in dict.fromkeys(entry.block for entry in self.entries):
            mine = {entry.column: entry for entry in self.entries if entry.block == block}
            most = max(entry.ours.mean or 0.0 for entry in mine.values())
            best = [name for name, entry in mine.items() if self.scores and entry.ours.mean == most]
            for words, what in zip_longest(block, self._whats(block), fillvalue=""):
                cells = [mine[name].shown(what) if name in mine and what else ""
                         for name in self.columns]  # fmt: skip
                if what == OURS:
                    cells = [marked.format(cell) if name in best else cell
                             for name, cell in zip(self.columns, cells, strict=True)]  # fmt: skip
                yield [words, self._named(what), *cells]
