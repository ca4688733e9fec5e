"""Options that several commands have."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from flexcfl.cli import completion

__all__ = [
    "Batch",
    "Cohort",
    "Data",
    "Dataset",
    "Device",
    "Drift",
    "Epochs",
    "Jobs",
    "Model",
    "OwnModel",
    "Quiet",
    "Rate",
    "Rounds",
    "Shift",
    "Track",
]

Dataset: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        autocompletion=completion.datasets,
        help="digits, synthetic, clusters, mnist, femnist, fashion-mnist, leaf, npz, or your own "
        "as package.module:function. It brings its own settings along, which the other options "
        "override. [default: digits]",
    ),
]
Model: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        autocompletion=completion.models,
        help="mclr, mlp, cnn, or a network of your own as package.module:factory.",
    ),
]
OwnModel: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME",
        help="The function that makes the model, as package.module:factory, where the run was "
        "made from Python with one of your own.",
    ),
]
Shift: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        autocompletion=completion.shifts,
        help="How clients' data change: swap-all, swap-part, incremental, label-permutation, "
        "rotation, gradual, recurring, your own as package.module:Class, or none; may be "
        "repeated. [default: swap-all for digits, else none]",
    ),
]
Drift: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        autocompletion=completion.detectors,
        help="How clients notice that their data have drifted: label-share, wasserstein, "
        "wasserstein-counts, mmd, or your own as package.module:Class. [default: label-share]",
    ),
]
Rounds: TypeAlias = Annotated[
    int | None, typer.Option(metavar="N", help="Number of communication rounds.")
]
Cohort: TypeAlias = Annotated[
    int | None, typer.Option(metavar="N", help="Number of clients that train in a round.")
]
Epochs: TypeAlias = Annotated[
    int | None,
    typer.Option(metavar="N", help="How often a client goes through its data in a round."),
]
Batch: TypeAlias = Annotated[
    int | None, typer.Option(metavar="N", help="Number of examples in a mini-batch.")
]
Rate: TypeAlias = Annotated[
    float | None, typer.Option(metavar="X", help="The clients' learning rate.")
]
Data: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="Where the dataset's files are looked for first.", show_default=False
    ),
]
Device: TypeAlias = Annotated[
    str | None, typer.Option(metavar="NAME", help="Where to compute: cpu, cuda. [default: cpu]")
]
Track: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Log the rounds for tensorboard or mlflow as well, each with the extra of its name; "
        "may be repeated.",
    ),
]
Jobs: TypeAlias = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="How many runs at once, each in a process of its own on one core. "
        "[default: one per core]",
    ),
]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
