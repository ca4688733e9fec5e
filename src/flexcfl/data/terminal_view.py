"""Data on a terminal: the list of datasets, and a federation's figures and label picture.

Each is a table if that fits the terminal, else lines that break between words.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.table import Table
from rich.text import Text

from flexcfl.data.describe import (
    LEVELS,
    Distances,
    client_distances,
    label_counts,
    skew_picture,
    unused_and_repeated,
)
from flexcfl.data.federation import Federation
from flexcfl.errors import printable
from flexcfl.lines import Folded, unbroken

# A narrower terminal may not have room for the first three columns.
TABLE_WIDTH = 80
INDENT = Text("  ")
# Darker means more, so that the picture can also be read without its colours.
SHADES = "·░▒▓█"
ASCII_SHADES = " .:*#"
STYLES = ("bright_black", "blue", "cyan", "yellow", "bold red")
MARGIN = len("class 000  ")
WIDEST_PICTURE = 200
NO_LIMIT = 10_000
ROWS = 62
DISTANCES = ("distance", "distance by class")
MEANING = Text(
    "Distance is how far a client's mean example is from the mean of all; 1.0 is what chance gives "
    "if clients draw from one pool. Distance by class is the same within each class: about 1.0 if "
    "clients differ only in their labels."
)


class DatasetRow(NamedTuple):
    """One dataset in the list."""

    name: str
    what: str
    clients: str
    files: str


@dataclass(frozen=True)
class DatasetTable:
    """The printable list of datasets; its form depends on the width."""

    rows: Sequence[DatasetRow]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw a table if it fits, else several lines for each dataset."""
        if options.max_width >= TABLE_WIDTH:
            yield from _table(self.rows, options.max_width)
            return
        for row in self.rows:
            yield Text(row.name, style="bold")
            for line in (Text(row.what), Text(f"{row.clients} clients"), _copyable(row.files)):
                yield Folded(line, INDENT)


def _table(rows: Sequence[DatasetRow], width: int) -> RenderResult:
    """Yield the rows with their files in the last column, or below if there is no room."""
    cells = [("name", "what it is", "clients"), *(row[:3] for row in rows)]
    name, what, number = (max(map(len, column)) for column in zip(*cells, strict=True))
    heads = [Text(f"{a:{name}}  {b:{what}}  {c:>{number}}  ") for a, b, c in cells]
    for head in heads:
        head.stylize("bold", 0, name)
    heads[0].append("files").stylize("bold")
    yield heads[0]
    for head, row in zip(heads[1:], rows, strict=True):
        files = _copyable(row.files)
        if head.cell_len + files.cell_len <= width:
            yield Folded(files, head)
        else:
            head.rstrip()
            yield head
            yield Folded(files, INDENT)


def _copyable(files: str) -> Text:
    """Return where the files are; what follows the first word can be copied in one piece."""
    word, _, rest = files.partition(" ")
    return Text(f"{word} ") + unbroken(printable(rest))


def federation_report(federation: Federation, options: Any) -> Group:
    """Return everything to print about a federation that was loaded with these settings."""
    train, test = (
        label_counts(lists, federation.y, federation.classes)
        for lists in (federation.train, federation.test)
    )
    pairs = zip(DISTANCES, client_distances(federation), strict=True)
    apart = {name: each for name, each in pairs if not np.isnan(each.all)}
    known: list[Text | str] = []
    if federation.structure is not None:
        known.append(_structure(federation.structure))
    if apart:
        known += ["", MEANING]
    return Group(
        _headline(federation),
        _settings(options),
        "",
        _Figures(_rows(federation, train + test, apart)),
        "",
        _remark(federation),
        *known,
        "",
        _SkewPicture(train + test),
    )


def _settings(options: Any) -> Folded:
    values = {item.name: getattr(options, item.name) for item in dataclasses.fields(options)}
    said = (f"{name}={value}" for name, value in values.items() if value is not None)
    given = [unbroken(printable(each)) for each in said]
    return Folded(Text("with ") + Text(", ").join(given))


def _headline(federation: Federation) -> Text:
    total = int(federation.train.sizes.sum() + federation.test.sizes.sum())
    clients, examples = _counted(federation.clients, "client"), _counted(total, "example")
    shape, classes = " x ".join(map(str, federation.shape)), _counted(federation.classes, "class")
    line = f": {clients}, {examples} of {shape} numbers, {classes}"
    return Text.assemble((federation.name, "bold"), line)


def _rows(
    federation: Federation, labels: NDArray[np.int64], apart: Mapping[str, Distances]
) -> list[tuple[str, ...]]:
    train, test = federation.train.sizes, federation.test.sizes
    return [
        _row("training examples", train, train.sum()),
        _row("test examples", test, test.sum()),
        _row("classes", (labels > 0).sum(axis=1), federation.classes),
        *(_row(name, each.each[~np.isnan(each.each)], each.all) for name, each in apart.items()),
    ]


def _row(
    name: str, values: NDArray[np.int64] | NDArray[np.float64], total: float
) -> tuple[str, ...]:
    """Return the minimum, median, mean and maximum of a figure over all clients."""
    whole_numbers = values.dtype.kind == "i"
    form = "," if whole_numbers else ",.1f"
    median = f"{np.median(values):,.1f}"
    return (
        name,
        f"{values.min():{form}}",
        median.removesuffix(".0") if whole_numbers else median,
        f"{values.mean():,.1f}",
        f"{values.max():{form}}",
        f"{total:{form}}",
    )


@dataclass(frozen=True)
class _Figures:
    """Figures over clients, as a table if it fits."""

    rows: Sequence[tuple[str, ...]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the table, or its rows as lines that break between words."""
        table = Table(box=None, pad_edge=False)
        table.add_column("per client")
        for column in ("min", "median", "mean", "max", "all clients"):
            table.add_column(column, justify="right")
        for row in self.rows:
            table.add_row(*row)
        wanted = console.measure(table, options=options.update(max_width=NO_LIMIT)).maximum
        if wanted <= options.max_width:
            yield table
            return
        for what, least, median, mean, greatest, total in self.rows:
            figures = f"{least} to {greatest} (median {median}, mean {mean}), all clients {total}"
            yield Text(f"{what} per client: {figures}")


def _remark(federation: Federation) -> Text:
    """Return how many examples of the pool are used by no client or several times."""
    unused, recurring = unused_and_repeated(federation)
    if not (unused or recurring):
        return Text(f"Each of the {len(federation.y):,} examples belongs to exactly one client.")
    return Text(
        f"Of {len(federation.y):,} examples, {unused:,} belong to no client "
        f"and {recurring:,} are used more than once."
    )


def _structure(cluster_of: NDArray[np.int64]) -> Text:
    members = np.unique(cluster_of, return_counts=True)[1]
    least, most = int(members.min()), int(members.max())
    size = f"{least:,} to {most:,} clients" if least < most else _counted(most, "client")
    each = " each" if len(members) > 1 else ""
    return Text(
        f"The true structure is known: {_counted(len(members), 'cluster')} of {size}{each}."
    )


@dataclass(frozen=True, eq=False)
class _SkewPicture:
    """Classes as rows, clients as columns; as many clients as fit the width."""

    labels: NDArray[np.int64]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the caption, the picture and the legend."""
        labels = self.labels
        room = min(max(options.max_width - MARGIN, 1), WIDEST_PICTURE)
        drawn = skew_picture(labels, room, ROWS)
        shades = ASCII_SHADES if options.ascii_only else SHADES
        widths = np.diff(np.linspace(0, room, len(drawn.clients) + 1).round().astype(int)).tolist()
        present = int(labels.any(axis=0).sum())
        yield Text(_caption(len(drawn.clients), len(drawn.classes), labels.shape, present))
        for class_, levels in zip(drawn.classes, drawn.levels, strict=True):
            cells = zip(levels, widths, strict=True)
            row = ((shades[level] * width, STYLES[level]) for level, width in cells)
            yield Text.assemble(f"class {class_:>3}  ", *row)
        yield _legend(shades)


def _caption(clients: int, classes: int, among: tuple[int, ...], present: int) -> str:
    who = "All clients" if clients == among[0] else f"{clients:,} of {among[0]:,} clients"
    kept = (
        "" if classes == among[1] else f" (of {among[1]:,} classes the {classes:,} most frequent)"
    )
    if classes == present < among[1]:
        kept = f" (of {among[1]:,} classes the {classes:,} that any client has)"
    return f"{who} as columns, sorted by their most frequent class{kept}:"


def _legend(shades: str) -> Text:
    legend = Text.assemble("Share of a client's data: ", (shades[0], STYLES[0]), " none")
    for level in range(1, LEVELS + 1):
        legend.append("  ").append(shades[level], STYLES[level])
        legend.append(f" up to {level / LEVELS:.0%}" if level == 1 else f" {level / LEVELS:.0%}")
    return legend


def _counted(count: int, noun: str) -> str:
    plural = "" if count == 1 else "es" if noun.endswith("s") else "s"
    return f"{count:,} {noun}{plural}"
