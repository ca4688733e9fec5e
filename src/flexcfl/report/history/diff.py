"""The differences of runs: settings, figures, first different round, and versions."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.text import Text

from flexcfl.errors import SettingsError, printable
from flexcfl.lines import Folded, unbroken
from flexcfl.record.summary import FIGURES
from flexcfl.report.history.list_view import GAP, UNKNOWN, labelled_cells, plain_table
from flexcfl.report.history.rows import as_json
from flexcfl.report.history.run_details import RunDetails
from flexcfl.report.terminal.setting_rows import name_text, value_text
from flexcfl.settings import short_repr

MISSING = object()  # no value, unlike None
Lines: TypeAlias = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Curves:
    """The comparison of the accuracies of two runs over the rounds that both have finished.

    ``first`` is the first round in which they differ, None if they are the same to the last digit.
    """

    compared: int
    first: int | None

    @classmethod
    def of(cls, one: NDArray[np.float64], other: NDArray[np.float64]) -> "Curves":
        """Compare the accuracies of two runs."""
        compared = min(len(one), len(other))
        apart = ~np.isclose(one[:compared], other[:compared], rtol=0, atol=0, equal_nan=True)
        where = np.flatnonzero(apart)
        return cls(compared, int(where[0]) + 1 if len(where) else None)

    def __str__(self) -> str:
        if not self.compared:
            return "no round that both have finished"
        if self.first is not None:
            return f"first differs in round {self.first}"
        return f"the same to the last digit in all {self.compared} rounds that both have finished"


@dataclass(frozen=True)
class Difference:
    """The differences of several runs: one value for each run in order, None if it has none.

    Attributes:
        folders: The folders of the runs.
        settings: The settings that differ.
        same: The settings that are the same.
        figures: The figures of each run.
        versions: The versions of packages that differ.
        curves: The accuracy of each run compared with that of the first.

    """

    folders: Sequence[str]
    settings: Mapping[str, tuple[Any, ...]]
    same: Mapping[str, Any]
    figures: Mapping[str, tuple[float | int | None, ...]]
    versions: Mapping[str, tuple[str | None, ...]]
    curves: Sequence[Curves]

    def content(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        return {
            "folders": list(self.folders),
            "settings": as_json(self.settings),
            "same": as_json(self.same),
            "figures": as_json(self.figures),
            "versions": as_json(self.versions),
            "accuracy": [vars(each) for each in self.curves],
        }


def difference(runs: Sequence[RunDetails]) -> Difference:
    """Compare runs with each other.

    Args:
        runs: Two or more runs, as ``details`` returns them.

    Returns:
        Their differences; ``DiffView`` prints them.

    Raises:
        SettingsError: If there are fewer than two runs.

    Example:
        from flexcfl.report.history import details, difference

        print(difference([details("runs/a"), details("runs/b")]).settings)

    """
    if len(runs) < 2:
        raise SettingsError("A comparison needs two or more runs: name another one.")
    for run in runs:
        if not isinstance(run, RunDetails):
            raise SettingsError(
                f"{short_repr(run)} is not the details of a run: pass its folder to "
                "flexcfl.report.history.details, and compare the results."
            )
    settings = _side_by_side([run.row.settings for run in runs])
    same = {name: each[0] for name, each in settings.items() if _all_same(each)}
    versions = _side_by_side([run.versions for run in runs if run.versions])
    figures = {name: tuple(run.row.figures[name] for run in runs) for name in FIGURES}
    return Difference(
        folders=[str(run.row.folder) for run in runs],
        settings={
            name: tuple(None if value is MISSING else value for value in each)
            for name, each in settings.items()
            if name not in same
        },
        same=same,
        figures={
            name: each for name, each in figures.items() if any(one is not None for one in each)
        },
        versions={
            name: tuple(run.versions.get(name) for run in runs)
            for name, each in versions.items()
            if not _all_same(each)
        },
        curves=[Curves.of(runs[0].accuracy, run.accuracy) for run in runs[1:]],
    )


def _side_by_side(mappings: Sequence[Mapping[str, Any]]) -> dict[str, tuple[Any, ...]]:
    names = list(dict.fromkeys(name for each in mappings for name in each))
    tables = list(dict.fromkeys(name.split(".")[0] for name in names))
    names.sort(key=lambda name: tables.index(name.split(".")[0]))  # table by table
    return {name: tuple(each.get(name, MISSING) for each in mappings) for name in names}


def _all_same(values: Sequence[Any]) -> bool:
    # Compare their repr: 1 differs from 1.0, and NaN equals NaN.
    return all(repr(value) == repr(values[0]) for value in values)


@dataclass(frozen=True)
class DiffView:
    """A printable difference; with ``all_settings``, it includes the settings that are the same."""

    found: Difference
    all_settings: bool = False

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw a letter for each run, then tables of the settings, figures and versions."""
        found, letters = self.found, _letters(len(self.found.folders))
        for letter, folder in zip(letters, found.folders, strict=True):
            yield Folded(unbroken(printable(folder), "bold"), Text(f"{letter}  ", "cyan"))
        width = options.max_width if options.is_terminal else None
        yield from _section("settings", letters, self._settings(), width)
        yield Text(self._counted())
        heads = [letters[0], *(head for each in letters[1:] for head in (each, f"{each}-A"))]
        yield from _section("figures", heads, _figures(found), width, heads)
        yield from _section("versions", letters, _lines(found.versions), width)
        yield Text("")
        for letter, curves in zip(letters[1:], found.curves, strict=True):
            yield Text(f"accuracy, {letter} and A: {curves}")

    def _settings(self) -> Lines:
        number = len(self.found.folders)
        same = {name: (value,) * number for name, value in self.found.same.items()}
        return _lines({**self.found.settings, **(same if self.all_settings else {})})

    def _counted(self) -> str:
        number = len(self.found.same)
        if not self.found.settings:
            return f"all {number} settings are the same"
        return f"{number} other settings are the same" + (
            "" if self.all_settings else " (--all shows them)"
        )


def _letters(number: int) -> list[str]:
    """Return short names for runs: A to Z, then numbers."""
    return [chr(ord("A") + place) if place < 26 else str(place + 1) for place in range(number)]


def _lines(values: Mapping[str, Iterable[Any]]) -> Lines:
    return {name: [_value(name, each) for each in line] for name, line in values.items()}


def _value(name: str, value: Any) -> str:
    if value is None:
        return UNKNOWN
    both = name.endswith(".name") and isinstance(value, list)
    return printable(name_text([value_text(each) for each in value]) if both else value_text(value))


def _figures(found: Difference) -> Lines:
    """Return each figure of the first run, and of the others with their difference from it."""
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


def _section(
    title: str, heads: Sequence[str], lines: Lines, width: int | None, right: Collection[str] = ()
) -> Iterator[RenderableType]:
    """Draw a table, or several lines for each row if it is wider than the terminal."""
    if not lines:
        return
    yield Text("")
    names = [printable(name) for name in lines]
    columns = [[title, *names]] + [
        [head, *(line[place] for line in lines.values())] for place, head in enumerate(heads)
    ]
    widths = [max(map(cell_len, column)) + GAP for column in columns]
    if width is None or sum(widths) - GAP <= width:
        rows = zip(*(column[1:] for column in columns), strict=True)
        yield plain_table([title, *heads], (map(Text, row) for row in rows), right)
        return
    yield Text(title, "bold")
    for name, line in zip(names, lines.values(), strict=True):
        yield Folded(Text(f"{name}: ") + labelled_cells(zip(heads, line, strict=True)))
