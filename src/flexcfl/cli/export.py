"""``flexcfl export``: the models of a run with a card, to be given to others."""

from pathlib import Path
from typing import Annotated

import typer

from flexcfl.cli import options

__all__ = ["export"]


def export(
    folder: Annotated[Path, typer.Argument(metavar="RUN", hidden=True)],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="The folder to write. [default: export within RUN]",
            show_default=False,
        ),
    ] = None,
    model: options.OwnModel = None,
    force: Annotated[bool, typer.Option("--force", help="Write over what is in DIR.")] = False,
    quiet: options.Quiet = False,
) -> None:
    """Write the models of a finished run, with a card that says what they are.

    RUN is a folder that 'flexcfl run', 'federate' or 'compare' left. DIR gets one .safetensors
    file for each group, README.md (a model card: data, settings, accuracy, traffic, and Python that
    loads a model with torch alone), config.json (shape, classes, who is in which group) and
    settings.toml. The data are not needed, and where they were on this machine is not told.
    'flexcfl place' says which of the groups fits somebody new.
    """
    from rich.console import Console

    from flexcfl.experiment.memory import spelt
    from flexcfl.lines import tell
    from flexcfl.runner import load
    from flexcfl.runner.conduct import loading

    console = Console(quiet=quiet)
    with loading(console, "Reading the run"):
        path = load(folder, model=model).export(out, force=force)
    files = sorted(path.iterdir())
    size = spelt(sum(each.stat().st_size for each in files))
    tell(f"written: {path} ({len(files)} files, {size})", console)
