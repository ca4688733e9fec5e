"""``flexcfl resume``: go on with what was interrupted."""

from pathlib import Path
from typing import Annotated

import typer

from flexcfl.cli import options

__all__ = ["resume"]


def resume(
    folder: Annotated[Path, typer.Argument(metavar="RUN", hidden=True)],
    data: options.Data = None,
    quiet: options.Quiet = False,
) -> None:
    """Go on with a run from its last checkpoint, to the same end as if it had never stopped.

    RUN is the folder of a run. Its rounds.csv and its models will be, byte for byte, those of a run
    without interruption. A checkpoint is made every 10 rounds and every 60 seconds, whichever comes
    first (run.checkpoint_rounds, run.checkpoint_seconds), and on Ctrl-C.
    """
    from rich.console import Console

    from flexcfl.runner.conduct import is_finished
    from flexcfl.runner.conduct import resume as go_on
    from flexcfl.runner.layers import spoken

    if is_finished(folder):
        typer.echo(f"The run in '{folder}' is finished: there is nothing left to do.")
        return
    words = [spoken({"data": data}, {})] if data else []
    go_on(folder, Console(quiet=quiet), layers=words, stoppable=True)
