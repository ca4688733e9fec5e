"""``flexcfl diff``: how runs differ, side by side."""

from pathlib import Path
from typing import Annotated

import typer

from flexcfl.cli.output import show, show_json

__all__ = ["diff"]


def diff(
    folders: Annotated[list[Path], typer.Argument(metavar="RUN RUN...", hidden=True)],
    all_: Annotated[bool, typer.Option("--all", help="Show settings that are the same, too.")] = (
        False
    ),
    as_json: Annotated[
        bool, typer.Option("--json", help="Print all of it as one JSON object.")
    ] = False,
) -> None:
    """Hold two runs or more against each other: settings, figures, accuracy by round, versions.

    RUN RUN... are folders of runs, finished or not. Figures have beside them the difference to
    the first run, accuracies in points of percent. It is said in which round accuracies differ
    first, or that they are the same to the last digit.

    It only shows, so that it ends with 0 whether runs differ or not; who wants to test for that
    asks with --json.
    """
    from flexcfl.report.history.diff import DiffView, difference
    from flexcfl.report.history.run_details import details

    found = difference([details(folder) for folder in folders])
    if as_json:
        show_json(found.content())
        return
    show(DiffView(found, all_))
