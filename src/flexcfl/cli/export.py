"""``flexcfl export`` and ``place``: write a run's models, and find the group for a newcomer."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flexcfl.cli import options
from flexcfl.cli.commands import print_json, print_to_stdout

if TYPE_CHECKING:
    from rich.console import RenderableType

    from flexcfl.runner import Placement, Run


def export(
    folder: options.Run,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="The folder to write. [default: export within RUN]",
        ),
    ] = None,
    model: options.OwnModel = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the files in DIR.")] = False,
    quiet: options.Quiet = False,
) -> None:
    """Write the models of a finished run, with a model card.

    RUN is a folder that 'flexcfl run', 'federate' or 'compare' wrote. DIR gets one .safetensors
    file for each group, README.md (the model card: data, settings, accuracy, traffic, and Python
    code that loads a model with torch alone), config.json (shape, classes, the group of each
    client) and settings.toml. The data are not needed, and their path on this machine is left out.
    'flexcfl place' finds the group that fits a newcomer.
    """
    from rich.console import Console

    from flexcfl.lines import bytes_text, tell
    from flexcfl.runner import load
    from flexcfl.runner.console_run import show_loading

    console = Console(quiet=quiet)
    with show_loading(console, "Reading the run"):
        path = load(folder, model=model).export(out, force=force)
    files = sorted(path.iterdir())
    size = bytes_text(sum(each.stat().st_size for each in files))
    tell(f"written: {path} ({len(files)} files, {size})", console)


def place(
    folder: options.Run,
    data: Annotated[
        Path,
        typer.Option(
            "--data",
            metavar="FILE",
            help="The newcomer's examples: an .npz file with x and y, or x_train and y_train, "
            "with x_test and y_test or without.",
        ),
    ],
    model: options.OwnModel = None,
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            help="Seed of the newcomer's training. [default: the run's]",
        ),
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Find the group that fits a newcomer, as a device would for itself.

    RUN is a folder that 'flexcfl run', 'federate' or 'compare' wrote. The run's algorithm places
    the newcomer as a client that comes after the last round: flexcfl by the direction of its first
    update. Every group's model is then measured on its examples, on x_test if the file has it.
    Nothing is written, and the run does not change.

    The examples must match the run's data: the same shape, the same scaling, and the same numbering
    of labels. 'flexcfl export' writes the models for others.
    """
    from rich.console import Console

    from flexcfl.data.npz import read_npz
    from flexcfl.errors import DataError
    from flexcfl.runner import load
    from flexcfl.runner.console_run import show_loading

    if not data.is_file():
        raise DataError(f"There is no file '{data}': name the newcomer's .npz file with --data.")
    held = read_npz(data, f"'{data}'", allow_unsplit=True)
    test = (None, None) if held.test is None else (held.test.x, held.test.y)
    with show_loading(Console(stderr=True), "Reading the run and placing the newcomer"):
        run = load(folder, model=model)
        placement = run.place(held.train.x, held.train.y, *test, seed=seed)
    if json_:
        print_json(_plain(placement))
        return
    print_to_stdout(_shown(run, placement))


def _plain(placement: "Placement") -> dict[str, Any]:
    def figure(value: float) -> float | None:
        return value if math.isfinite(value) else None

    groups = [
        {
            "group": int(group),
            "accuracy": figure(float(placement.accuracy[group])),
            "loss": figure(float(placement.loss[group])),
        }
        for group in placement.groups
    ]
    return {
        "group": placement.group,
        "best": placement.best,
        "how": placement.how,
        "examples": placement.examples,
        "tested": placement.tested,
        "groups": groups,
    }


def _shown(run: "Run", placement: "Placement") -> "RenderableType":
    from rich.console import Group
    from rich.text import Text

    return Group(Text(_found(placement)), _table(run, placement), *map(Text, _remarks(placement)))


def _found(placement: "Placement") -> str:
    if placement.group is None:
        return "No group fits: the newcomer's training diverges, or it found none."
    return f"The newcomer belongs to group {placement.group}, {placement.how}."


def _remarks(placement: "Placement") -> list[str]:
    which = "test examples" if placement.tested else "examples, the same by which it was placed"
    remarks = [f"Measured on its {placement.examples:,} {which}."]
    best, group = placement.best, placement.group
    if group is not None and placement.accuracy[best] > placement.accuracy[group]:
        better = f"{placement.accuracy[best]:.1%} against {placement.accuracy[group]:.1%}"
        remarks.append(f"The model of group {best} does better on these examples: {better}.")
    return remarks


def _table(run: "Run", placement: "Placement") -> "RenderableType":
    import numpy as np
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("group")
    for name in ("clients", "accuracy here", "loss here", "accuracy on its clients"):
        table.add_column(name, justify="right")
    for group in placement.groups.tolist():
        own = run.group_accuracy[group]
        table.add_row(
            f"{group}{' <-' if group == placement.group else ''}",
            f"{np.count_nonzero(run.group_of == group):,}",
            f"{placement.accuracy[group]:.1%}",
            f"{placement.loss[group]:.4g}",
            "not measured" if np.isnan(own) else f"{own:.1%}",
            style="bold" if group == placement.group else None,
        )
    return table
