"""The list of runs, one line for each run: on a terminal the columns that fit, in a pipe all."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from flexcfl.errors import printable
from flexcfl.lines import Folded, unbroken
from flexcfl.record.summary import FIGURES
from flexcfl.report.history.rows import RunRow
from flexcfl.report.terminal.setting_rows import name_text, value_text

COLUMNS = (
    *("folder", "algorithm", "dataset", "model", "shift", "seed", "rounds", "state"),
    *("final", "best", "traffic", "migrations", "when"),
)
# Columns that a narrow terminal omits, in this order; a folder mostly names the settings of a run.
DROPPABLE = (
    *("migrations", "model", "dataset", "shift", "seed", "traffic", "when", "algorithm", "best"),
)
SHOWN_ONCE = ("algorithm", "dataset", "model", "shift", "seed", "rounds", "state")
GAP, UNKNOWN = 2, "-"
STYLES = {"running": "green", "interrupted": "yellow"}
READING = (
    "accuracy in %, final is the mean of the last ten rounds; traffic in model transfers, as a "
    "multiple of FedAvg's"
)


@dataclass(frozen=True)
class ListView:
    """A printable list of runs; ``asked`` are settings and figures to show in any case."""

    rows: Sequence[RunRow]
    asked: Sequence[str] = ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw a table; omit columns that are the same for all runs or that do not fit."""
        names = list(dict.fromkeys([*COLUMNS, *self.asked]))
        if not options.is_terminal:
            yield _table(self.rows, names, plainly=True)
            return
        same = [name for name in names if self._same(name)]
        names = [name for name in names if name not in same]
        fitting = self._fitting(names, options.max_width)
        if not fitting:
            yield from _blocks(self.rows, names)
        else:
            yield _table(self.rows, fitting)
        yield from _remarks(self.rows, same, [name for name in names if name not in fitting])

    def _same(self, name: str) -> bool:
        """Return whether a column that may be omitted is the same for all runs."""
        if name not in SHOWN_ONCE and (name in COLUMNS or name in FIGURES):
            return False
        return len(self.rows) > 1 and len({cell_text(row, name) for row in self.rows}) == 1

    def _fitting(self, names: Sequence[str], width: int) -> list[str]:
        """Return the columns that fit, or none if not even the required ones fit."""
        widths = {name: _width(self.rows, name) for name in names}
        spared = [name for name in DROPPABLE if name in names and name not in self.asked]
        kept = {name for name in names if name not in spared}
        room = width + GAP - sum(widths[name] + GAP for name in kept)
        if room < 0:
            return []
        for name in reversed(spared):
            if widths[name] + GAP <= room:
                room -= widths[name] + GAP
                kept.add(name)
        return [name for name in names if name in kept]


def cell_text(row: RunRow, name: str, plainly: bool = False) -> str:
    """Return the text of a cell; with ``plainly``, without spaces and commas for programs."""
    value = row.value(name)
    if name == "rounds":
        return _rounds(row)
    if name == "when":
        return str(value)[:19].replace(" ", "T") if plainly else str(value)[:16]
    if name in ("shift", "shift.name") and isinstance(value, list):
        return (
            printable("+".join(map(value_text, value)) if plainly else name_text(value)) or "none"
        )
    if value is None:
        return UNKNOWN
    if name in FIGURES:
        return _figure(name, value, plainly)
    return printable(value_text(value))


def _rounds(row: RunRow) -> str:
    total = value_text(row.settings["run.rounds"])
    return total if row.state == "finished" else f"{row.figures['done']}/{total}"


def _figure(name: str, value: float | int, plainly: bool) -> str:
    if FIGURES[name].share:
        return f"{100 * value:.1f}"
    if name == "traffic":
        return f"{value:.2f}" if plainly else f"x{value:.2f}"
    if isinstance(value, int):
        return str(value) if plainly else f"{value:,}"
    return f"{value:.4g}"


def _width(rows: Iterable[RunRow], name: str) -> int:
    return max(cell_len(text) for text in [name, *(cell_text(row, name) for row in rows)])


def plain_table(
    heads: Sequence[str], lines: Iterable[Iterable[Text]], right: Collection[str] = ()
) -> Table:
    """Return a table without borders; the columns in ``right`` are right-aligned."""
    made = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0))
    for head in heads:
        made.add_column(head, justify="right" if head in right else "left", no_wrap=True)
    for line in lines:
        made.add_row(*line)
    return made


def labelled_cells(cells: Iterable[tuple[str, str]]) -> Text:
    """Return cells with their heads, for a terminal too narrow for a table."""
    return Text(", ").join(Text(f"{head} ") + unbroken(cell) for head, cell in cells)


def _table(rows: Sequence[RunRow], names: Sequence[str], plainly: bool = False) -> Table:
    lines = (
        [Text(cell_text(row, name, plainly), _style(row, name)) for name in names] for row in rows
    )
    right = [
        name for name in names if any(isinstance(row.value(name), int | float) for row in rows)
    ]
    return plain_table(names, lines, right)


def _style(row: RunRow, name: str) -> str:
    if name == "state":
        return STYLES.get(row.state, "")
    return "bold" if name == "folder" else ""


def _blocks(rows: Iterable[RunRow], names: Sequence[str]) -> RenderResult:
    """Draw several lines for each run if the columns do not fit."""
    for row in rows:
        yield Folded(unbroken(cell_text(row, "folder"), "bold"))
        yield Folded(_row_text(row, [name for name in names if name != "folder"]), Text(" " * GAP))


def _row_text(row: RunRow, names: Iterable[str]) -> Text:
    return labelled_cells((name, cell_text(row, name)) for name in names)


def _remarks(rows: Sequence[RunRow], same: Sequence[str], missing: Sequence[str]) -> RenderResult:
    yield Text("")
    if same:
        yield Folded(
            Text.assemble(f"the same for all {len(rows)}: ", _row_text(rows[0], same), style="dim")
        )
    if missing and len(missing) < len(COLUMNS) - len(same):
        yield Text(f"no room for: {', '.join(missing)} (a wider terminal, or --json)", "dim")
    yield Text(READING, "dim")
