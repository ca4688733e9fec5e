"""A table with the paper's figures beside ours, as text, as Markdown and as CSV."""

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rich import box
from rich.console import Console
from rich.table import Table

from flexcfl.comparison.table import Figure
from flexcfl.runner import tables

__all__ = ["Entry", "Sheet"]

OURS, PAPER, DIFFERENCE = "ours", "paper", "difference"
WIDE = 1000  # more than any table is wide
UNKNOWN = "-"


@dataclass(frozen=True)
class Entry:
    """One figure: ours over the seeds, the paper's where it has one, and further ones of ours.

    ``digits`` is how many decimals are shown, None for three that count.
    """

    block: str
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

    def line(self, what: str) -> Figure:
        """Return the figure of a line, by its name."""
        paper, difference = Figure(self.paper, None), Figure(self.difference, None)
        return {OURS: self.ours, PAPER: paper, DIFFERENCE: difference, **self.beside}.get(
            what, Figure(None, None)
        )

    def shown(self, what: str) -> str:
        """Return a figure as it is printed."""
        figure = self.line(what)
        if figure.mean is None:
            return UNKNOWN
        spread = "" if figure.spread is None else f" ±{self._number(figure.spread)}"
        return f"{self._number(figure.mean, sign=what == DIFFERENCE)}{spread}"

    def _number(self, value: float, sign: bool = False) -> str:
        plus = "+" if sign else ""
        form = f"{plus},.{self.digits}f" if self.digits is not None else f"{plus}.3g"
        return format(value, form)


@dataclass(frozen=True)
class Sheet:
    """Entries in blocks of lines, with a title and with notes on how to read it.

    Where entries are ``scores``, the largest of each block is marked.
    """

    title: str
    entries: Sequence[Entry]
    notes: Sequence[str] = ()
    scores: bool = False

    @property
    def columns(self) -> list[str]:
        """The columns, in the order in which they first come."""
        return list(dict.fromkeys(entry.column for entry in self.entries))

    def text(self, notes: bool = True) -> str:
        """Return the table for a terminal or a plain file."""
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), title=self.title)
        table.title_justify, table.title_style = "left", ""
        for number, name in enumerate(["", "", *self.columns]):
            table.add_column(name, justify="right" if number > 1 else "left", no_wrap=True)
        for line in self._lines("{}"):
            table.add_row(*line)
        screen = io.StringIO()
        Console(file=screen, width=WIDE, color_system=None).print(table)
        lines = [line.rstrip() for line in screen.getvalue().splitlines()]
        return "\n".join([*lines, *(self.notes if notes else ())]) + "\n"

    def markdown(self) -> str:
        """Return the table as Markdown."""
        rows = [["", "", *self.columns], ["---", "---", *["---:"] * len(self.columns)]]
        rows += self._lines("**{}**")
        lines = [f"| {' | '.join(row)} |" for row in rows]
        remarks = [f"- {note}" for note in self.notes]
        return "\n".join([f"# {self.title}", "", *lines, "", *remarks]) + "\n"

    def csv(self) -> str:
        """Return a line for each figure."""
        head = ("block", "column", "figure", "mean", "spread")
        figures = [
            (entry.block, entry.column, what, entry.line(what).mean, entry.line(what).spread)
            for entry in self.entries
            for what in self._whats(entry.block)
            if entry.line(what).mean is not None
        ]
        return tables.written([head, *figures])

    def _whats(self, block: str) -> list[str]:
        mine = [entry for entry in self.entries if entry.block == block]
        paper = [PAPER, DIFFERENCE] if any(entry.paper is not None for entry in mine) else []
        return [OURS, *paper, *dict.fromkeys(what for entry in mine for what in entry.beside)]

    def _lines(self, marked: str) -> Iterator[list[str]]:
        for block in dict.fromkeys(entry.block for entry in self.entries):
            by_column = {entry.column: entry for entry in self.entries if entry.block == block}
            most = max((entry.ours.mean or 0.0 for entry in by_column.values()), default=0.0)
            for number, what in enumerate(self._whats(block)):
                cells = []
                for name in self.columns:
                    entry = by_column.get(name)
                    text = entry.shown(what) if entry else ""
                    best = self.scores and entry and what == OURS and entry.ours.mean == most
                    cells.append(marked.format(text) if best else text)
                yield [block if number == 0 else "", what, *cells]
