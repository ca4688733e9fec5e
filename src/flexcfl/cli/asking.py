"""What commands ask that train one federation: a file of settings, and options above it."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flexcfl.cli import completion, options

if TYPE_CHECKING:
    from flexcfl.experiment.layers import Layer

__all__ = ["Asked", "asking", "said"]


@dataclass(frozen=True)
class Asked:
    """What a person asks for: the settings of a ``file`` and, above it, ``words``."""

    file: Path | None
    words: "Layer"
    out: Path | None
    quiet: bool
    track: tuple[str, ...] = ()


def asking(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command all options of ``asked`` beside its own; it gets them as one argument."""
    own = list(inspect.signature(command).parameters.values())[1:]
    common = list(inspect.signature(asked).parameters.values())
    names = {each.name for each in own}

    def called(**words: Any) -> None:
        given = {name: value for name, value in words.items() if name not in names}
        command(asked(**given), **{name: words[name] for name in names})

    first, *others = common
    parameters = [first, *own, *others]
    called.__name__, called.__doc__ = command.__name__, command.__doc__
    called.__annotations__ = {each.name: each.annotation for each in parameters}
    called.__dict__["__signature__"] = inspect.Signature(parameters)
    return called


def asked(
    experiment: Annotated[
        Path | None,
        typer.Argument(metavar="EXPERIMENT.toml", hidden=True),
    ] = None,
    algorithm: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            autocompletion=completion.algorithms,
            help="fedavg, fedprox, fedgroup, flexcfl, flexcfl-rcc, flexcfl-rac, ifca, ifca-mig, "
            "fesem, fesem-mig, cfl or flhc, which 'flexcfl algorithms' explains, or your own as "
            "package.module:entry. [default: flexcfl]",
        ),
    ] = None,
    dataset: options.Dataset = None,
    model: options.Model = None,
    rounds: options.Rounds = None,
    cohort: options.Cohort = None,
    epochs: options.Epochs = None,
    batch: options.Batch = None,
    rate: options.Rate = None,
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="N|auto",
            help="Number of groups, or auto to let flexcfl, fedgroup and flexcfl-rac find it; "
            "fedavg and fedprox have one, cfl finds its own.",
        ),
    ] = None,
    shift: options.Shift = None,
    drift: options.Drift = None,
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="The same seed gives the same run, bit for bit. Which client has which data "
            "is drawn from data.seed instead. [default: 0]",
        ),
    ] = None,
    data: options.Data = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The run's folder. [default: a new one under runs]"),
    ] = None,
    device: options.Device = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Any setting by table and name, such as local.prox=0.1; may be repeated. "
            "'flexcfl run --help' lists the tables.",
        ),
    ] = None,
    track: options.Track = None,
    quiet: options.Quiet = False,
) -> Asked:
    """Return what these options ask for."""
    given = {
        "algorithm": algorithm,
        "dataset": dataset,
        "model": model,
        "rounds": rounds,
        "cohort": cohort,
        "epochs": epochs,
        "batch": batch,
        "rate": rate,
        "shift": shift or None,
        "drift": drift,
        "seed": seed,
        "data": data,
        "device": device,
    }
    return Asked(experiment, said(given, groups, set_), out, quiet, tuple(track or ()))


def said(given: Mapping[str, Any], groups: str | None, set_: list[str] | None) -> "Layer":
    """Return the settings that options name: ``given`` are their values by name."""
    from flexcfl.experiment.layers import spoken
    from flexcfl.settings import assignments

    number_or_word = assignments([f"groups={groups}"]) if groups is not None else {}
    assigned = assignments(set_ or [], example="local.rate=0.05")
    return spoken({**given, **number_or_word}, assigned)
