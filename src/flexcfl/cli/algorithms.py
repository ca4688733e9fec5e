"""``flexcfl algorithms``: which algorithms there are, and the options of each."""

from collections.abc import Iterator
from dataclasses import fields
from inspect import cleandoc
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flexcfl.cli import options
from flexcfl.cli.commands import print_to_stdout

if TYPE_CHECKING:
    from rich.console import RenderableType

    from flexcfl.algorithms import AlgorithmEntry


def algorithms(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", hidden=True, autocompletion=options.complete_algorithm),
    ] = None,
) -> None:
    """Show every algorithm, what it is, and its options with their defaults.

    With a NAME, such as flexcfl, its options are explained as well. They are set with
    'flexcfl run --algorithm NAME --set algorithm.OPTION=VALUE'. Datasets bring defaults of their
    own for some, groups above all, which a run shows.
    """
    from rich.console import Group

    from flexcfl.algorithms import ALGORITHMS
    from flexcfl.errors import SettingsError, unknown

    if name is None:
        print_to_stdout(Group(*(_block(each, entry) for each, entry in ALGORITHMS.items())))
        return
    if name not in ALGORITHMS:
        raise SettingsError(unknown("algorithm", name, ALGORITHMS))
    print_to_stdout(Group(_block(name, ALGORITHMS[name]), *_explained(ALGORITHMS[name].options)))


def _block(name: str, entry: "AlgorithmEntry") -> "RenderableType":
    """Return an algorithm in a few lines, indented below its name."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    lines = [entry.summary, *filter(None, [_defaults(entry.options)])]
    return Group(Text(name, style="bold"), *(Padding(Text(line), (0, 0, 0, 2)) for line in lines))


def _defaults(options: type[Any]) -> str:
    values = {item.name: item.default for item in fields(options)}
    return ", ".join(
        f"{name} {'not set' if value is None else value}" for name, value in values.items()
    )


def _explained(options: type[Any]) -> Iterator["RenderableType"]:
    """Yield the paragraphs of the docstrings of options, the most general class last."""
    from rich.text import Text

    for each in options.__mro__[:-1]:
        for paragraph in cleandoc(each.__doc__ or "").replace("``", "'").split("\n\n"):
            yield ""
            yield Text(" ".join(paragraph.split()))
