"""What all commands have in common: options given once, hints at what is meant, whole sentences."""

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click
import typer
from typer.core import TyperCommand, TyperGroup
from typer.models import CommandFunctionType

from flexcfl.errors import SettingsError, nearest
from flexcfl.synonyms import absent

if TYPE_CHECKING:
    from rich.console import RenderableType

WHOLE = 1000  # longer than any first sentence, so that a list of commands cuts none


class Command(TyperCommand):
    """A command whose options have one value each, but for those that may be repeated."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read words of a command line, once it is known that no option is strange or doubled."""
        if not ctx.resilient_parsing:  # else a shell asks how an unfinished line may go on
            self.check(ctx, args)
        return super().parse_args(ctx, args)

    def get_short_help_str(self, limit: int = WHOLE) -> str:
        """Return what the command does in a sentence, however long a line may be."""
        return super().get_short_help_str(max(limit, WHOLE))

    def check(self, ctx: click.Context, words: Sequence[str]) -> None:
        """Refuse options that there are not, and a second value where there is one."""
        try:
            _, _, given = self.make_parser(ctx).parse_args(list(words))
        except click.NoSuchOption as error:
            raise SettingsError(_no_such_option(ctx, error.option_name)) from None
        single = [each for each in given if isinstance(each, click.Option) and not _several(each)]
        for option in single:
            if single.count(option) > 1:
                raise SettingsError(
                    f"'{max(option.opts, key=len)}' is given more than once: give it once."
                )


class Group(TyperGroup):
    """A group of commands, whose list has whole sentences."""

    def get_short_help_str(self, limit: int = WHOLE) -> str:
        """Return what the commands do in a sentence, however long a line may be."""
        return super().get_short_help_str(max(limit, WHOLE))


class Commands(typer.Typer):
    """Commands such as these."""

    def __init__(self, **words: Any) -> None:
        super().__init__(cls=Group, rich_markup_mode=None, **words)

    def command(
        self, name: str | None = None, *, cls: type[TyperCommand] | None = Command, **words: Any
    ) -> Callable[[CommandFunctionType], CommandFunctionType]:
        """Make a command of a function."""
        return super().command(name, cls=cls, **words)


def _several(option: click.Option) -> bool:
    """Whether there is no harm in giving an option again: one more value, or the same flag."""
    return option.multiple or option.is_flag


def _no_such_option(ctx: click.Context, strange: str) -> str:
    name = strange.lstrip("-").replace("-", "_")
    known = _sayable(ctx)
    near = nearest(name, known) if strange.startswith("--") else None
    if near is not None:
        return f"No such option '{strange}': did you mean {known[near]}?"
    why = absent(name) or f"'{ctx.command_path} --help' tells what it takes"
    return f"No such option '{strange}': {why}."


def _sayable(ctx: click.Context) -> dict[str, str]:
    """Return by name what a command can be told: its parameters, and what ``--set`` reaches."""
    own = {}
    for each in ctx.command.params:
        if isinstance(each, click.Option):
            words = [word for word in each.opts if word.startswith("--")]
            own.update({word.removeprefix("--"): f"'{word}'" for word in words})
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


def print_shown(shown: "RenderableType") -> None:
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
