"""``flexcfl settings``: list all settings of an experiment, from the registries."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from flexcfl.cli.commands import print_to_stdout

if TYPE_CHECKING:
    from rich.console import RenderableType

    from flexcfl.experiment.reference import Block, Grid


def _complete_table(incomplete: str) -> list[str]:
    from flexcfl.experiment.reference import TABLES

    return [each for each in TABLES if each.startswith(incomplete)]


def settings(
    table: Annotated[
        str | None, typer.Argument(metavar="TABLE", autocompletion=_complete_table)
    ] = None,
) -> None:
    """List the settings of an experiment, by table.

    With a TABLE, such as local, its settings are shown with their values, defaults and meaning.
    Give settings in a file for 'flexcfl run', with --set TABLE.KEY=VALUE, or in Python with
    set={...}.
    """
    from rich.console import Group

    from flexcfl.errors import SettingsError, unknown
    from flexcfl.experiment.reference import TABLES, settings_of

    if table is None:
        print_to_stdout(Group(*(_summary(each) for each in TABLES)))
    elif table in TABLES:
        print_to_stdout(Group(*_shown(settings_of(table))))
    else:
        raise SettingsError(unknown("table", table, TABLES))


def _summary(table: str) -> "RenderableType":
    """Return the name of a table, with its settings and the values of its ``name`` below."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    from flexcfl.experiment.reference import Grid, Heading, settings_of

    lines = [f"name = {', '.join(names)}" for names in _choices(table)]
    heading = ""
    for block in settings_of(table):
        if isinstance(block, Heading):
            heading = f"{block.text.partition('] ')[2].removeprefix('name = ')}: "
        elif isinstance(block, Grid) and block.head[0] == "setting":
            lines.append(_plain(heading + ", ".join(row[0] for row in block.rows)))
    indented = (Padding(Text(line), (0, 0, 0, 2)) for line in lines)
    return Group(Text(table, style="bold"), *indented)


def _choices(table: str) -> Iterator[list[str]]:
    from flexcfl.experiment.reference import Grid, settings_of

    for block in settings_of(table):
        if isinstance(block, Grid) and block.head[0] == "`name`":
            yield [_plain(row[0]) for row in block.rows]


def _shown(blocks: "Iterator[Block]") -> "Iterator[RenderableType]":
    """Yield the blocks of a table for a terminal, with a blank line between them."""
    from rich.text import Text

    from flexcfl.experiment.reference import Grid, Heading

    for number, block in enumerate(blocks):
        if number:
            yield ""
        if isinstance(block, Heading):
            yield Text(block.text, style="bold")
        elif isinstance(block, Grid):
            yield _columns(block)
        else:
            yield Text(_plain(block))


def _columns(grid: "Grid") -> "RenderableType":
    from rich.table import Table

    table = Table(*map(_plain, grid.head), box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for row in grid.rows:
        table.add_row(*map(_plain, row))
    return table


def _plain(markdown: str) -> str:
    return markdown.replace("`", "")
