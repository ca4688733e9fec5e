"""What all commands have in common: options given once, hints at what is meant, and printing."""

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

WHOLE = 1000  # longer than any first sentence, so that a list of commands cuts none


class _WholeSentences(click.Command):
    def get_short_help_str(self, limit: int = WHOLE) -> str:
        """Return the first sentence of the help, however long a line may be."""
        return super().get_short_help_str(max(limit, WHOLE))


class CommandGroup(_WholeSentences, TyperGroup):
    """A group of commands, whose list has whole sentences."""


class Command(_WholeSentences, TyperCommand):
    """A command whose options have one value each, but for those that may be repeated."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse a command line, once it is known that no option is unknown or doubled."""
        if not ctx.resilient_parsing:  # otherwise a shell asks how an unfinished line may go on
            self.check(ctx, args)
        return super().parse_args(ctx, args)

    def check(self, ctx: click.Context, args: Sequence[str]) -> None:
        """Refuse unknown options, and a second value where there may be only one."""
        try:
            _, _, given = self.make_parser(ctx).parse_args(list(args))
        except click.NoSuchOption as error:
            raise SettingsError(_no_such_option(ctx, error.option_name)) from None
        options = [each for each in given if isinstance(each, click.Option)]
        for option in options:
            # There is no harm in one more value of several, or in the same flag again.
            if options.count(option) > 1 and not (option.multiple or option.is_flag):
                raise SettingsError(
                    f"'{max(option.opts, key=len)}' is given more than once: give it once."
                )


def _no_such_option(ctx: click.Context, strange: str) -> str:
    name = strange.lstrip("-").replace("-", "_")
    known = _known(ctx)
    near = nearest(name, known) if strange.startswith("--") else None
    if near is not None:
        return f"No such option '{strange}': did you mean {known[near]}?"
    why = absent(name) or f"'{ctx.command_path} --help' tells what it takes"
    return f"No such option '{strange}': {why}."


def _known(ctx: click.Context) -> dict[str, str]:
    """Return by name what a command takes: its parameters, and the settings of ``--set``."""
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
    from flexcfl.experiment.choices import homes

    # Without a choice of the data set, it is the settings of one that a command takes.
    tables = ("",) if "dataset" in own else ("data.",)
    settings = {
        key: " or ".join(f"'--set {name}=VALUE'" for name in names if name.startswith(tables))
        for key, names in homes().items()
    }
    return {**{key: how for key, how in settings.items() if how}, **own}


def print_to_stdout(shown: "RenderableType") -> None:
    """Print something on the output of the command."""
    from rich.console import Console

    from flexcfl import lines

    lines.show(shown, Console())


def print_json(content: Any) -> None:
    """Print something for programs, in which no name can move a terminal."""
    typer.echo(json.dumps(content, indent=2, allow_nan=False))


def example(command: str) -> str:
    """Return what stands below a command's help: an example on one line, however narrow it is."""
    return f"\b\nExample: {command}"  # click reads the character as: keep this line
