"""``flexcfl show``: one run on a screen or two."""

from pathlib import Path
from typing import Annotated

import typer

from flexcfl.cli.output import show_json

__all__ = ["show"]


def show(
    folder: Annotated[Path, typer.Argument(metavar="RUN", hidden=True)],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print all of it as one JSON object.")
    ] = False,
) -> None:
    """Show one run: its settings, its figures, its groups, what it sent, its files.

    RUN is the folder of a run, which 'flexcfl run' printed and 'flexcfl runs' lists. Settings that
    are not the defaults of its dataset and algorithm are in bold, with the default. A run that is
    not finished is shown as far as it is, with the command to go on with it if it was interrupted.
    """
    from rich.console import Console

    from flexcfl.report.history.details_view import show_run
    from flexcfl.report.history.run_details import details

    run = details(folder)
    if as_json:
        show_json(run.content())
        return
    show_run(run, Console(highlight=False))
