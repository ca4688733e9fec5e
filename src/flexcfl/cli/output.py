"""How commands print: for people on a terminal, for programs in a pipe."""

import os
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["show"]

# Wider than any line, so that what reads a pipe finds every line whole.
PIPE_WIDTH = 10_000


def show(shown: "RenderableType") -> None:
    """Print something; in a pipe with whole lines, and no spaces that fill them up."""
    from rich.console import Console

    console = Console()
    if console.is_terminal:
        console.print(shown)
        return
    pipe = Console(width=None if "COLUMNS" in os.environ else PIPE_WIDTH)
    with pipe.capture() as captured:
        pipe.print(shown)
    for line in captured.get().splitlines():
        typer.echo(line.rstrip())
