"""The files of a target: its table in three forms, a line for each run, pictures and a page.

They end with the commands to reproduce them, the versions and the machine.
"""

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from flexcfl.paper.catalogue import ROUNDS, family
from flexcfl.paper.cells import Chosen
from flexcfl.paper.comparison_table import ComparisonTable
from flexcfl.paper.drawing import STYLE
from flexcfl.paper.results import Result, group_by
from flexcfl.paper.targets import TargetOutput
from flexcfl.record import csv_tables
from flexcfl.record.metrics import rounds_to
from flexcfl.record.summary import Summary
from flexcfl.report.page import PageTable, Report, html

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GOALS = ("0.8", "0.85", "0.9")


def files(
    made: TargetOutput, by: Sequence[str], results: Sequence[Result], title: str, folder: Path
) -> Iterator[tuple[str, bytes]]:
    """Yield files by the ending of their names; ``by`` are the sentences of ``origin_notes``."""
    if made.table:
        yield ".txt", (made.table.text() + "".join(f"{line}\n" for line in by)).encode()
        yield ".md", (made.table.markdown() + "".join(f"- {line}\n" for line in by)).encode()
        yield ".csv", made.table.csv().encode()
    if results:
        yield "-runs.csv", runs_csv(results).encode()
        paths = [result.path for result in results if result.path]
        if len(paths) == len(results):  # a record alone is not enough for a page
            yield ".html", _page(made.table, by, paths, title, folder).encode()
    yield from ((f"-{ending}.csv", text.encode()) for ending, text in made.files.items())
    if made.draw:
        yield from _pictures(made.draw, title, " ".join(by))


def _page(
    ours: ComparisonTable | None, by: Sequence[str], runs: Sequence[Path], title: str, folder: Path
) -> str:
    """Return a page with the table, and with charts of all runs."""
    report = Report.of(runs)
    if not ours:
        return html(report, title, relative_to=folder)
    table = PageTable(ours.title, ["", "", *ours.columns], [*ours.lines()], [*ours.notes, *by])
    return html(report, ours.title, table=table, relative_to=folder)


def _pictures(draw: "Callable[[], Figure]", title: str, by: str) -> Iterator[tuple[str, bytes]]:
    from matplotlib import style  # here, because it takes a second to import

    with style.context(["default", STYLE, {"font.size": 9}]):
        picture = draw()
        described = {"Date": None, "Title": title, "Description": by}
        for kind, metadata in (("svg", described), ("png", {})):
            content = io.BytesIO()
            picture.savefig(content, format=kind, dpi=150, metadata=metadata)
            yield f".{kind}", content.getvalue()


def runs_csv(results: Sequence[Result]) -> str:
    """Return a line for each run."""
    lines = [_figures(result) for result in results]
    return csv_tables.to_csv([list(lines[0]), *(list(line.values()) for line in lines)])


def _figures(run: Result) -> dict[str, object]:
    """Return what identifies a run, and its figures, by name.

    Accuracies and figures computed from them are over the shared rounds. ``area`` is the area under
    the curve of accuracy divided by the number of these rounds: the mean.
    """
    part, summary, accuracy = run.cell.part, run.summary, asdict(run.accuracy)
    reached = rounds_to(run.curve, GOALS).items()
    return {
        "setting": part.setting,
        "method": part.name,
        "rounds": run.cell.rounds,
        "seed": run.cell.seed,
        **accuracy,
        "area": None if accuracy["best"] is None else float(np.nanmean(run.curve)),
        **{f"rounds_to_{goal}": number for goal, number in reached},
        "loss": summary["loss"],
        "discrepancy": summary["discrepancy"]["mean"],
        **summary["traffic"],
        **{name: summary[name] for name in ("shifted", "detected", "migrations")},
        "largest_group": run.largest_group,
        "processor": summary.get("processor", ""),  # missing in runs of earlier versions
        "seconds": summary["seconds"],
    }


def origin_notes(
    target: str, rows: Sequence[str], chosen: Chosen, results: Sequence[Result]
) -> list[str]:
    """Return sentences on the commands that reproduce these results, and on what computed them.

    ``rows`` are the rows that were named; they are used if there are no results.
    """
    if not results:
        from flexcfl.benchmark.machine import machine  # here, because it imports torch

        return [f"Made by `{command(target, rows)}`.", f"This machine: {machine()}."]
    commands = [f"`{each}`" for each in _commands(target, chosen, results)]
    computed = dict.fromkeys(_made_by(result.summary) for result in results)
    return [f"Made by {' and '.join(commands)}.", f"Computed by {' and by '.join(computed)}."]


def _made_by(summary: Summary) -> str:
    """Return the versions and the processor that made a run."""
    versions = ", ".join(f"{name} {version}" for name, version in summary["versions"].items())
    return f"{versions} on {summary['processor']}" if "processor" in summary else versions


def _commands(target: str, chosen: Chosen, results: Sequence[Result]) -> Iterator[str]:
    """Yield one command for all rows with the same seeds and rounds."""
    seeds: dict[tuple[str, int], int] = {}
    for result in results:
        key = (family(result.cell.part.row), result.cell.rounds)
        seeds[key] = max(seeds.get(key, 0), result.cell.seed + 1)
    for (rounds, number), keys in group_by(seeds, lambda key: (key[1], seeds[key])).items():
        yield command(target, [row for row, _ in keys], rounds, number, chosen)


def command(
    target: str,
    rows: Sequence[str] = (),
    rounds: int = ROUNDS,
    seeds: int = 1,
    chosen: Chosen = (),
) -> str:
    """Return the command that reproduces rows of a target."""
    words = [f"flexcfl reproduce {target}"]
    words += [f"--only {','.join(rows)}"] if rows else []
    words += [f"--seeds {seeds}"] if seeds > 1 else []
    words += [f"--rounds {rounds}"] if rounds != ROUNDS else []
    words += [f"--choose {name}={value}" for name, value in chosen]
    return " ".join(words)
