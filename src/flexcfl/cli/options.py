"""Options that several commands share, options made from settings, and shell completion."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, get_args

import typer
from typer.models import ArgumentInfo

from flexcfl.experiment.options import DECLARED, OPTIONS, names_of

if TYPE_CHECKING:
    from flexcfl.experiment.layers import SettingsLayer

Command: TypeAlias = Callable[..., None]


def complete_algorithm(incomplete: str) -> list[tuple[str, str]]:
    """Complete the name of an algorithm."""
    from flexcfl.algorithms import ALGORITHMS

    return _beginning(incomplete, ALGORITHMS, _summaries(ALGORITHMS.ours))


def complete_dataset(incomplete: str) -> list[tuple[str, str]]:
    """Complete the name of a dataset."""
    from flexcfl.data import DATASETS

    what = {name: dataset.what for name, dataset in DATASETS.ours.items()}
    return _beginning(incomplete, DATASETS, what)


def _complete_detector(incomplete: str) -> list[tuple[str, str]]:
    from flexcfl.shifts.detection import DETECTORS

    return _beginning(incomplete, DETECTORS, _summaries(DETECTORS.ours))


def _complete_model(incomplete: str) -> list[tuple[str, str]]:
    """Complete the name of a model of flexcfl, without importing torch."""
    return _beginning(incomplete, ("mclr", "mlp", "cnn"), {})


def _complete_shift(incomplete: str) -> list[tuple[str, str]]:
    from flexcfl.shifts import SHIFTS

    what = {**_summaries(SHIFTS.ours), "none": "nothing changes"}
    return _beginning(incomplete, [*SHIFTS, "none"], what)


def _complete_tracker(incomplete: str) -> list[tuple[str, str]]:
    from flexcfl.runner.tracking import TRACKERS

    return _beginning(incomplete, TRACKERS, {})


def _summaries(ours: Mapping[str, Any]) -> dict[str, str]:
    return {name: entry.summary for name, entry in ours.items()}


def _beginning(
    incomplete: str, names: Iterable[str], summaries: Mapping[str, str]
) -> list[tuple[str, str]]:
    # Entries of other packages have no summary here: a key press must not import their code.
    return [(name, summaries.get(name, "")) for name in names if name.startswith(incomplete)]


COMPLETIONS: Mapping[str, Callable[[str], list[tuple[str, str]]]] = {
    "algorithm": complete_algorithm,
    "dataset": complete_dataset,
    "model": _complete_model,
    "shift": _complete_shift,
    "drift": _complete_detector,
}

Run: TypeAlias = Annotated[Path, typer.Argument(metavar="RUN", hidden=True)]
Runs: TypeAlias = Annotated[list[Path], typer.Argument(metavar="RUN...", hidden=True)]
Experiment: TypeAlias = Annotated[
    Path | None, typer.Argument(metavar="EXPERIMENT.toml", hidden=True)
]
RunOut: TypeAlias = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="The run's folder. [default: a new one under runs]"),
]
OwnModel: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME",
        help="The function that makes the model, as package.module:factory, if the run was made "
        "from Python with your own model.",
    ),
]
Data: TypeAlias = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Where to look for the dataset's files first."),
]
Track: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar=DECLARED["track"].metavar,
        help=DECLARED["track"].help,
        autocompletion=_complete_tracker,
    ),
]
Jobs: TypeAlias = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Number of runs at once, each in its own process on one core. [default: one per core]",
    ),
]
AllAsJson: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print everything as one JSON object.")
]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Set: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Any setting ('flexcfl settings'), such as local.prox=0.1; may be repeated.",
    ),
]


def with_settings(kinds: type[Any]) -> Callable[[Command], Command]:
    """Add the options of a class to a command, and ``--set``.

    The command gets their values as one layer of settings, its first argument.
    """
    names = [name for name in names_of(kinds) if name in OPTIONS]

    def given(command: Command) -> Command:
        own = list(inspect.signature(command).parameters.values())[1:]

        def called(set_: list[str] | None = None, **values: Any) -> None:
            chosen = {name: values.pop(name) for name in names}
            command(_layer(chosen, set_), **values)

        arguments = [each for each in own if _is_argument(each)]
        others = [each for each in own if each not in arguments]
        parameters = [*arguments, *map(_parameter, names), _keyword("set_", Set), *others]
        called.__name__, called.__doc__ = command.__name__, command.__doc__
        called.__annotations__ = {each.name: each.annotation for each in parameters}
        called.__dict__["__signature__"] = inspect.Signature(parameters)
        return called

    return given


def _is_argument(parameter: inspect.Parameter) -> bool:
    return any(isinstance(each, ArgumentInfo) for each in get_args(parameter.annotation))


def _parameter(name: str) -> inspect.Parameter:
    option = OPTIONS[name]
    how = typer.Option(
        metavar=option.metavar,
        help=option.help,
        autocompletion=COMPLETIONS.get(name),
    )
    return _keyword(name, Annotated[option.kind | None, how])


def _keyword(name: str, annotation: Any) -> inspect.Parameter:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(name, kind, default=None, annotation=annotation)


def _layer(chosen: Mapping[str, Any], set_: list[str] | None) -> "SettingsLayer":
    """Return the settings that the options set; ``chosen`` has their values by name."""
    from flexcfl.experiment.layers import options_layer
    from flexcfl.settings import assignments

    groups = chosen["groups"]  # a number or a word
    number_or_word = assignments([f"groups={groups}"]) if groups is not None else {}
    shifts = chosen["shift"] or None
    assigned = assignments(set_ or [], example="local.rate=0.05")
    return options_layer({**chosen, "shift": shifts, **number_or_word}, assigned)
