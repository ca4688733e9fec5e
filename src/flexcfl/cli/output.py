"""How commands print: for people on a terminal, for programs in a pipe."""

import json
import os
from typing import TYPE_CHECKING, Any

import typer

from flexcfl.errors import printable

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

__all__ = ["show", "show_json", "tell"]

# Wider than any line, so that what reads a pipe finds every line whole.
PIPE_WIDTH = 10_000


def show(shown: "RenderableType", whole: bool = False) -> None:
    """Print something; in a pipe with whole lines, and no spaces that fill them up.

    ``COLUMNS`` may say how long lines in a pipe are, unless each must be ``whole``.
    """
    from rich.console import Console

    console = Console()
    if console.is_terminal:
        console.print(shown)
        return
    pipe = Console(width=None if "COLUMNS" in os.environ and not whole else PIPE_WIDTH)
    with pipe.capture() as captured:
        pipe.print(shown)
    for line in captured.get().splitlines():
        typer.echo(line.rstrip())


def tell(sentence: str, console: "Console") -> None:
    """Print a sentence as it is, on one line, in which no name can move a terminal."""
    console.print(printable(sentence), markup=False, highlight=False, soft_wrap=True)


def show_json(content: Any) -> None:
    """Print something for programs, in which no name can move a terminal."""
    typer.echo(json.dumps(content, indent=2, allow_nan=False))
