"""The reference of the command, docs/commands.md, generated from the command itself."""

import re
from collections.abc import Iterator
from typing import Any

import click
import typer

from flexcfl.cli import app

__all__ = ["page"]

OPENING = """# Commands

This page is made from the commands themselves by `python -m tools.reference`, and says what
`flexcfl COMMAND --help` says. `flexcfl run`, `federate` and `compare` take any
[setting](settings.md) with `--set`.
"""
KEPT = "\b\n"  # click's mark for a paragraph that is not wrapped
DEFAULT = re.compile(r" ?\[default: ([^\]]*)\]")
CODE = re.compile(
    r"'(?P<command>flexcfl[^']*)'"
    r"|(?P<option>(?<![\w`'-])--?[a-z][\w-]*(?: '?[\w.]+=\S*[\w\]']| (?:tensorboard|mlflow)\b)?)"
)


def page() -> str:
    """Return the page: every command in the order of the help."""
    parts = [
        part
        for names, command in _walk(typer.main.get_command(app))
        for part in _section(names, command)
    ]
    return "\n".join([OPENING, *parts])


def _walk(command: Any, *names: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield names, command
    for name, below in getattr(command, "commands", {}).items():
        yield from _walk(below, *names, name)


def _section(names: tuple[str, ...], command: Any) -> Iterator[str]:
    called = " ".join(["flexcfl", *names])
    context = click.Context(command, info_name=called)
    usage = " ".join([called, *command.collect_usage_pieces(context)])
    yield f"{'#' * (2 + len(names[1:]))} {called}\n"
    yield f"```text\n{usage}\n```\n"
    yield from map(_paragraph, command.help.split("\n\n"))
    records = [each.get_help_record(context) for each in command.get_params(context)]
    options = [record for record in records if record is not None and "--help" not in record[0]]
    if options:
        yield "| option | | default |\n|---|---|---|\n" + "\n".join(map(_row, options)) + "\n"
    yield f"```console\n{command.epilog.partition('Example: ')[2]}\n```\n"


def _paragraph(text: str) -> str:
    if text.startswith(KEPT):
        return f"```text\n{text.removeprefix(KEPT)}\n```\n"
    return f"{_marked(' '.join(text.split()))}\n"


def _row(record: tuple[str, str]) -> str:
    option, told = record
    told = " ".join(told.split())
    default = DEFAULT.search(told)
    cells = [f"`{option}`", _marked(DEFAULT.sub("", told)), _marked(default[1]) if default else ""]
    return f"| {' | '.join(map(_cell, cells))} |"


def _marked(text: str) -> str:
    """Return a text with commands and options as code."""
    return CODE.sub(lambda found: f"`{found['command'] or found['option']}`", text)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
