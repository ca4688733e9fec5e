"""``flexcfl algorithms``: list all algorithms with their options."""

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
    """List all algorithms with a summary and the defaults of their options.

    With a NAME, such as flexcfl, the options of that algorithm are explained. Set them with
    'flexcfl run --algorithm NAME --set algorithm.OPTION=VALUE'. Some datasets have other defaults,
    above all for groups; a run shows them.
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
    """Return the name of an algorithm with its summary and defaults indented below."""
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
    """Yield the paragraphs of the docstrings of the options, base classes last."""
    from rich.text import Text

    for each in options.__mro__[:-1]:
        for paragraph in cleandoc(each.__doc__ or "").replace("``", "'").split("\n\n"):
            yield ""
            yield Text(" ".join(paragraph.split()))
