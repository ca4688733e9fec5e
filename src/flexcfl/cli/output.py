"""How commands print: for people on a terminal, for programs in a pipe."""

import json
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["example", "show", "show_json"]


def show(shown: "RenderableType") -> None:
    """Print something on the output of the command."""
    from rich.console import Console

    from flexcfl import lines

    lines.show(shown, Console())


def show_json(content: Any) -> None:
    """Print something for programs, in which no name can move a terminal."""
    typer.echo(json.dumps(content, indent=2, allow_nan=False))


def example(command: str) -> str:
    """Return what stands below a command's help: an example on one line, however narrow it is."""
    return f"\b\nExample: {command}"  # click reads the character as: keep this line
