"""The details of one run on a terminal: its settings, its figures and its files."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.text import Text

from flexcfl import lines
from flexcfl.errors import printable
from flexcfl.lines import unbroken
from flexcfl.record.summary import Summary
from flexcfl.report.history.run_details import GroupDetails, RunDetails
from flexcfl.report.terminal.setting_rows import WIDTH, Rows, print_rows, rows_by_table, value_text
from flexcfl.report.terminal.summary_text import MANY, summary_rows

STATES = {
    "finished": "finished {when}",
    "running": "running: round {done} of {total}",
    "interrupted": "interrupted after round {done} of {total}, {when}",
}
# Keys of a summary that the rounds alone do not provide.
UNKNOWN: Mapping[str, Any] = {"attack": None, "privacy": None}
LONGEST, SHORTEST = 60, 10  # the most and the fewest characters of a curve
BLOCKS, PLAIN = "▁▂▃▄▅▆▇█", "_.-=+*#@"
MEASURING = "evaluation"  # measures a method, and is not part of it


def show_run(run: RunDetails, console: Console) -> None:
    """Print the details of a run, section by section."""
    for number, section in enumerate(detail_rows(run, console.width, console.options.ascii_only)):
        if number:
            console.print()
        print_rows(section, console)


def detail_rows(run: RunDetails, width: int = 80, ascii_only: bool = False) -> list[Rows]:
    """Return the sections of a run's details: its state, settings, figures and files."""
    sections = [
        dict(_head(run)),
        rows_by_table(run.tables, _defaults(run)),
        dict(_figures(run, width, ascii_only)),
        {name: Text(content) for name, content in run.files.items()},
    ]
    return [section for section in sections if section]


def _head(run: RunDetails) -> Iterator[tuple[str, Text]]:
    row = run.row
    total, done = row.settings["run.rounds"], row.figures["done"]
    at = row.when.strftime("%Y-%m-%d %H:%M")
    yield "folder", unbroken(printable(str(row.folder)), "bold")
    yield "state", Text(STATES[row.state].format(when=at, done=done, total=total))
    if run.again:
        name = "resume" if row.state == "interrupted" else "run again"
        yield name, unbroken(printable(run.again))
    elif run.made:
        yield "made", Text(printable(run.made))
    if run.versions:
        versions = (f"{name} {version}" for name, version in run.versions.items())
        yield "versions", Text(printable(", ".join(versions)))


def _defaults(run: RunDetails) -> dict[str, str]:
    return {
        name: f"default {'none' if usual is None else value_text(usual)}"
        for name, usual in run.defaults.items()
        if not (usual is None and name.endswith(".name"))
    }


def _figures(run: RunDetails, width: int, ascii_only: bool) -> Iterator[tuple[str, Text]]:
    if not len(run.accuracy):
        yield "rounds", Text("none yet")
        return
    room = width - WIDTH - len("  100.0% to 100.0%, rounds 100 to 300") - 2
    curve = sparkline(run.accuracy, min(LONGEST, max(room, SHORTEST)), ascii_only)
    for name, text in summary_rows(_summary(run), run.accuracy, groups=_groups(run.groups)).items():
        yield name, text
        if name == "accuracy" and curve:
            yield "by round", Text(f"{curve}  {_extent(run)}")
        if name == "traffic":
            yield from _purposes(run)
    if run.row.figures["seconds"] is not None:
        yield "time", Text(f"{run.row.figures['seconds']:,.1f} s")


def _summary(run: RunDetails) -> Summary:
    """Return the summary of the rounds so far, and of the rest only checked values."""
    figures, names = run.row.figures, run.row.settings.get("shift.name")
    clients = figures["clients"]
    placed = run.summary["placed"]
    known = {"shift": names or None, "clients": placed if clients is None else clients}
    return cast(Summary, {**run.summary, **UNKNOWN, **known})


def _extent(run: RunDetails) -> str:
    measured = np.flatnonzero(~np.isnan(run.accuracy))
    known = run.accuracy[measured]
    first, last = measured[0] + 1, measured[-1] + 1
    return f"{known.min():.1%} to {known.max():.1%}, rounds {first} to {last}"


def _groups(groups: Sequence[GroupDetails]) -> str:
    if len(groups) < 2:
        return ""
    if len(groups) > MANY:
        sizes = [group.clients for group in groups]
        return f"{len(groups)} of {min(sizes):,} to {max(sizes):,} clients"
    return "; ".join(
        f"{group.group}: {group.clients:,} clients"
        + ("" if group.accuracy is None else f", {group.accuracy:.1%}")
        for group in groups
    )


def _purposes(run: RunDetails) -> Iterator[tuple[str, Text]]:
    for purpose, cost in run.traffic.items():
        sent = f"{lines.bytes_text(cost.down_bytes)} down, {lines.bytes_text(cost.up_bytes)} up"
        apart = " (not counted above)" if purpose == MEASURING else ""
        yield f" {printable(purpose)}", Text(f"{cost.transfers:,} transfers; {sent}{apart}")


def sparkline(values: NDArray[np.float64], width: int, ascii_only: bool = False) -> str:
    """Return values as a line of at most ``width`` characters, with a blank for NaN.

    If there are more values, each character is the mean of several values.

    >>> import numpy as np
    >>> sparkline(np.array([0.1, 0.5, np.nan, 0.9]), 10)
    '▁▅ █'
    """
    signs = PLAIN if ascii_only else BLOCKS
    parts = np.array_split(values, min(len(values), max(width, 1))) if len(values) else []
    means = [float(known.mean()) if len(known := part[~np.isnan(part)]) else None for part in parts]
    there = [mean for mean in means if mean is not None]
    low, span = (min(there), max(there) - min(there)) if there else (0.0, 0.0)
    return "".join(
        " " if mean is None else signs[round((mean - low) / span * 7) if span else 7]
        for mean in means
    ).rstrip()
