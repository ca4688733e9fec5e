"""What commands ask that train: options for settings, made of their one declaration."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer
from typer.models import ArgumentInfo

from flexcfl.cli import completion, options
from flexcfl.experiment.options import OPTIONS, Options, names_of

if TYPE_CHECKING:
    from flexcfl.experiment.layers import Layer

__all__ = ["Asked", "asking", "speaking"]

Command = Callable[..., None]
COMPLETIONS: Mapping[str, Callable[[str], list[tuple[str, str]]]] = {
    "algorithm": completion.algorithms,
    "dataset": completion.datasets,
    "model": completion.models,
    "shift": completion.shifts,
    "drift": completion.detectors,
}
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Any setting by table and name, such as local.prox=0.1; may be repeated. "
        "'flexcfl run --help' lists the tables.",
    ),
]


@dataclass(frozen=True)
class Asked:
    """What a person asks for: the settings of a ``file`` and, above it, ``words``."""

    file: Path | None
    words: "Layer"
    out: Path | None
    quiet: bool
    track: tuple[str, ...] = ()


def speaking(kinds: type[Any]) -> Callable[[Command], Command]:
    """Give a command the options of a class beside its own, and ``--set``.

    What they say comes to the command as one layer of settings, its first argument.
    """
    names = names_of(kinds)

    def given(command: Command) -> Command:
        own = list(inspect.signature(command).parameters.values())[1:]

        def called(set_: list[str] | None = None, **words: Any) -> None:
            said = {name: words.pop(name) for name in names}
            command(_said(said, set_), **words)

        arguments = [each for each in own if _is_argument(each)]
        others = [each for each in own if each not in arguments]
        shared = [*map(_parameter, names), _keyword("set_", Set)]
        return _showing(called, command, [*arguments, *shared, *others])

    return given


def asking(command: Command) -> Command:
    """Give a command that trains one federation all that such commands have in common."""
    own = list(inspect.signature(command).parameters.values())[1:]
    names = [each.name for each in own]

    def called(words: "Layer", **others: Any) -> None:
        mine = {name: others.pop(name) for name in names}
        command(_asked(words, **others), **mine)

    first, *rest = list(inspect.signature(_asked).parameters.values())
    return speaking(Options)(_showing(called, command, [first, *rest[:1], *own, *rest[1:]]))


def _asked(
    words: "Layer",
    experiment: Annotated[
        Path | None, typer.Argument(metavar="EXPERIMENT.toml", hidden=True)
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The run's folder. [default: a new one under runs]"),
    ] = None,
    track: options.Track = None,
    quiet: options.Quiet = False,
) -> Asked:
    return Asked(experiment, words, out, quiet, tuple(track or ()))


def _showing(called: Command, command: Command, parameters: list[inspect.Parameter]) -> Command:
    """Let a function look to Typer like a command with these parameters."""
    called.__name__, called.__doc__ = command.__name__, command.__doc__
    called.__annotations__ = {each.name: each.annotation for each in parameters}
    called.__dict__["__signature__"] = inspect.Signature(parameters)
    return called


def _is_argument(parameter: inspect.Parameter) -> bool:
    return any(isinstance(each, ArgumentInfo) for each in get_args(parameter.annotation))


def _parameter(name: str) -> inspect.Parameter:
    option = OPTIONS[name]
    how = typer.Option(
        metavar=option.metavar,
        help=option.help,
        autocompletion=COMPLETIONS.get(name),
        show_default=False,
    )
    return _keyword(name, Annotated[option.kind | None, how])


def _keyword(name: str, annotation: Any) -> inspect.Parameter:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(name, kind, default=None, annotation=annotation)


def _said(given: Mapping[str, Any], set_: list[str] | None) -> "Layer":
    """Return the settings that options name: ``given`` are their values by name."""
    from flexcfl.experiment.layers import spoken
    from flexcfl.settings import assignments

    groups = given["groups"]  # a number or a word
    number_or_word = assignments([f"groups={groups}"]) if groups is not None else {}
    shifts = given["shift"] or None
    assigned = assignments(set_ or [], example="local.rate=0.05")
    return spoken({**given, "shift": shifts, **number_or_word}, assigned)
