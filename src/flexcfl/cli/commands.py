"""Base classes of all commands, with hints for mistyped options, and functions that print."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
import typer
from typer.core import TyperCommand, TyperGroup

from flexcfl.errors import SettingsError, nearest
from flexcfl.synonyms import absent

if TYPE_CHECKING:
    from rich.console import RenderableType

WHOLE = 1000  # longer than any first sentence, so that lists of commands cut none


class _WholeSentences(click.Command):
    def get_short_help_str(self, limit: int = WHOLE) -> str:
        """Return the whole first sentence of the help."""
        return super().get_short_help_str(max(limit, WHOLE))


class CommandGroup(_WholeSentences, TyperGroup):
    """A group of commands; its help lists them with whole sentences."""


class Command(_WholeSentences, TyperCommand):
    """A command that refuses unknown options, and a second value of an option with one value."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Check the options of a command line, and parse it."""
        if not ctx.resilient_parsing:  # true while a shell completes an unfinished line
            self.check(ctx, args)
        return super().parse_args(ctx, args)

    def check(self, ctx: click.Context, args: Sequence[str]) -> None:
        """Raise if an option is unknown, or has a second value although it takes only one."""
        try:
            _, _, given = self.make_parser(ctx).parse_args(list(args))
        except click.NoSuchOption as error:
            raise SettingsError(_no_such_option(ctx, error.option_name)) from None
        options = [each for each in given if isinstance(each, click.Option)]
        for option in options:
            # Options with several values and flags may be repeated.
            if options.count(option) > 1 and not (option.multiple or option.is_flag):
                raise SettingsError(
                    f"'{max(option.opts, key=len)}' is given more than once: give it once."
                )


def _no_such_option(ctx: click.Context, option: str) -> str:
    name = option.lstrip("-").replace("-", "_")
    known = _known_names(ctx)
    near = nearest(name, known) if option.startswith("--") else None
    if near is not None:
        return f"No such option '{option}': did you mean {known[near]}?"
    why = absent(name) or f"'{ctx.command_path} --help' shows what it takes"
    return f"No such option '{option}': {why}."


def _known_names(ctx: click.Context) -> dict[str, str]:
    """Return how to give each parameter of a command, and each setting of ``--set``, by name."""
    own = {}
    for each in ctx.command.params:
        if isinstance(each, click.Option):
            names = [name for name in each.opts if name.startswith("--")]
            own.update({name.removeprefix("--"): f"'{name}'" for name in names})
        else:
            argument = (each.metavar or "").strip("[].")
            own[each.name or ""] = f"the argument {argument}"
    if "set" not in own:
        return own
    from flexcfl.experiment.choices import keys_by_name

    # A command without --dataset takes only the settings of a dataset.
    tables = ("",) if "dataset" in own else ("data.",)
    settings = {
        key: " or ".join(f"'--set {name}=VALUE'" for name in names if name.startswith(tables))
        for key, names in keys_by_name().items()
    }
    return {**{key: how for key, how in settings.items() if how}, **own}


def print_to_stdout(renderable: "RenderableType") -> None:
    """Print a Rich renderable on the standard output."""
    from rich.console import Console

    from flexcfl import lines

    lines.show(renderable, Console())


def print_json(content: Any) -> None:
    """Print JSON; it escapes control characters, so that no name can affect the terminal."""
    typer.echo(json.dumps(content, indent=2, allow_nan=False))


def example(command: str) -> str:
    """Return the epilog of a command's help: an example that stays on one line."""
    return f"\b\nExample: {command}"  # for click, \b means: do not wrap this paragraph
