"""Runs side by side on a terminal: what differs in a table, or below each other."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from flexcfl.errors import printable
from flexcfl.lines import Folded, whole
from flexcfl.record.figures import FIGURES
from flexcfl.report.history.difference import Difference
from flexcfl.report.terminal.settings import named, plain

__all__ = ["Beside"]

Lines: TypeAlias = Mapping[str, Sequence[str]]

Justify: TypeAlias = Literal["left", "right"]

GAP = 2
UNKNOWN = "-"


@dataclass(frozen=True)
class Beside:
    """A difference that can be printed; with ``all_settings`` also what is the same."""

    found: Difference
    all_settings: bool = False

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Name the runs by letters, then draw a table of settings and one of figures."""
        found, letters = self.found, _letters(len(self.found.folders))
        for letter, folder in zip(letters, found.folders, strict=True):
            yield Folded(whole(printable(folder), "bold"), Text(f"{letter}  ", "cyan"))
        width = options.max_width if options.is_terminal else None
        yield from _section("settings", letters, self._settings(), width)
        yield Text(self._counted())
        heads = [letters[0], *(head for each in letters[1:] for head in (each, f"{each}-A"))]
        yield from _section("figures", heads, _figures(found), width, "right")
        yield from _section("versions", letters, _told(found.versions, _text), width)
        yield Text("")
        for letter, curves in zip(letters[1:], found.curves, strict=True):
            yield Text(f"accuracy, {letter} and A: {_curves(curves.compared, curves.first)}")

    def _settings(self) -> Lines:
        number = len(self.found.folders)
        same = {name: (value,) * number for name, value in self.found.same.items()}
        return _told({**self.found.settings, **(same if self.all_settings else {})}, _setting)

    def _counted(self) -> str:
        number = len(self.found.same)
        if not self.found.settings:
            return f"all {number} settings are the same"
        return f"{number} other settings are the same" + (
            "" if self.all_settings else " (--all shows them)"
        )


def _letters(number: int) -> list[str]:
    """Return names for runs: A to Z, and then numbers."""
    return [chr(ord("A") + place) if place < 26 else str(place + 1) for place in range(number)]


def _told(values: Mapping[str, Iterable[Any]], spelt: Callable[[str, Any], str]) -> Lines:
    return {name: [spelt(name, each) for each in line] for name, line in values.items()}


def _setting(name: str, value: Any) -> str:
    if value is None:
        return UNKNOWN
    both = name.endswith(".name") and isinstance(value, list)
    return printable(named([plain(each) for each in value]) if both else plain(value))


def _text(_name: str, value: Any) -> str:
    return UNKNOWN if value is None else printable(str(value))


def _figures(found: Difference) -> Lines:
    """Return each figure of the first run, and of the others with the difference to it."""
    return {
        name: [_figure(name, first), *_others(name, first, others)]
        for name, (first, *others) in found.figures.items()
    }


def _others(name: str, first: float | None, others: Iterable[float | None]) -> Iterator[str]:
    for value in others:
        yield _figure(name, value)
        apart = None if value is None or first is None else value - first
        yield _figure(name, apart, "+")


def _figure(name: str, value: float | int | None, sign: str = "") -> str:
    if value is None:
        return UNKNOWN
    if FIGURES[name].share:
        return f"{100 * value:{sign}.2f}{' points' if sign else '%'}"
    return f"{value:{sign},}" if isinstance(value, int) else f"{value:{sign}.4g}"


def _curves(compared: int, first: int | None) -> str:
    if not compared:
        return "no round that both have done"
    if first is not None:
        return f"first differs in round {first}"
    return f"the same to the last digit in all {compared} rounds that both have done"


def _section(
    title: str, heads: Sequence[str], lines: Lines, width: int | None, justify: Justify = "left"
) -> Iterator[RenderableType]:
    if not lines:
        return
    yield Text("")
    columns = [[title, *lines]] + [
        [head, *(line[place] for line in lines.values())] for place, head in enumerate(heads)
    ]
    widths = [max(map(cell_len, column)) + GAP for column in columns]
    if width is None or sum(widths) - GAP <= width:
        yield _table(columns, justify)
        return
    yield Text(title, "bold")
    for name, line in lines.items():
        words = (Text(f"{head} ") + whole(cell) for head, cell in zip(heads, line, strict=True))
        yield Folded(Text(f"{printable(name)}: ") + Text(", ").join(words))


def _table(columns: Sequence[Sequence[str]], justify: Justify) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0))
    for place, (head, *_) in enumerate(columns):
        table.add_column(head, justify=justify if place else "left", no_wrap=True)
    for cells in zip(*(column[1:] for column in columns), strict=True):
        table.add_row(*(Text(printable(cell)) for cell in cells))
    return table
