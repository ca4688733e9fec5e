"""Options that several commands have."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

__all__ = [
    "Data",
    "Jobs",
    "OwnModel",
    "Quiet",
    "Track",
]

OwnModel: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME",
        help="The function that makes the model, as package.module:factory, where the run was "
        "made from Python with one of your own.",
    ),
]
Data: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="Where the dataset's files are looked for first.", show_default=False
    ),
]
Track: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Log the rounds for tensorboard or mlflow as well, each with the extra of its name; "
        "may be repeated.",
    ),
]
Jobs: TypeAlias = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="How many runs at once, each in a process of its own on one core. "
        "[default: one per core]",
    ),
]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
