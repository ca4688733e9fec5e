"""The list of datasets on a terminal: a table, or blocks where a table would break words."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from flexcfl.errors import printable
from flexcfl.lines import Folded, whole

__all__ = ["Listing", "Row"]

# On a terminal narrower than this not even the first three columns may fit.
TABLE_WIDTH = 80
INDENT = Text("  ")


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

    @property
    def told(self) -> Text:
        """Where its files are; after the first word comes what may be copied."""
        word, _, rest = self.files.partition(" ")
        return Text(f"{word} ") + whole(printable(rest))


@dataclass(frozen=True)
class Listing:
    """Datasets that can be printed, in the form that suits the width."""

    rows: Sequence[Row]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw a table, or put below each other what does not fit beside each other."""
        if options.max_width >= TABLE_WIDTH:
            yield from _table(self.rows, options.max_width)
            return
        for row in self.rows:
            yield Text(row.name, style="bold")
            for line in (Text(row.what), Text(f"{row.number} clients"), row.told):
                yield Folded(line, INDENT)


def _table(rows: Sequence[Row], width: int) -> RenderResult:
    """Yield the rows with their files beside them, or below where there is no room for them."""
    cells = [("name", "what it is", "clients"), *((row.name, row.what, row.number) for row in rows)]
    name, what, number = (max(map(len, column)) for column in zip(*cells, strict=True))
    heads = [Text(f"{a:{name}}  {b:{what}}  {c:>{number}}  ") for a, b, c in cells]
    for head in heads:
        head.stylize("bold", 0, name)
    heads[0].append("files").stylize("bold")
    yield heads[0]
    for head, row in zip(heads[1:], rows, strict=True):
        if head.cell_len + row.told.cell_len <= width:
            yield Folded(row.told, head)
        else:
            head.rstrip()
            yield head
            yield Folded(row.told, INDENT)
