"""The list of datasets on a terminal: a table, or blocks where a table would break words."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

__all__ = ["Listing", "Row"]

# Four columns leave the last one too little room on a terminal narrower than this.
TABLE_WIDTH = 80


@dataclass(frozen=True)
class Row:
    """What the list says of one dataset; ``clients`` is None where any number is possible."""

    name: str
    what: str
    clients: int | None
    files: str

    @property
    def number(self) -> str:
        """The number of clients, in words."""
        return "any" if self.clients is None else f"{self.clients:,}"


@dataclass(frozen=True)
class Listing:
    """Datasets that can be printed, in the form that suits the width."""

    rows: Sequence[Row]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw a table, or put below each other what does not fit beside each other."""
        if options.max_width >= TABLE_WIDTH:
            yield _table(self.rows)
            return
        for row in self.rows:
            yield Text(row.name, style="bold")
            for line in (row.what, f"{row.number} clients", row.files):
                yield Padding(Text(line), (0, 0, 0, 2))


def _table(rows: Sequence[Row]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("name", style="bold", no_wrap=True)
    table.add_column("what it is", no_wrap=True)
    table.add_column("clients", justify="right", no_wrap=True)
    table.add_column("files", overflow="fold")
    for row in rows:
        files = Text(row.files)  # a path may look like markup
        table.add_row(row.name, row.what, row.number, files)
    return table
