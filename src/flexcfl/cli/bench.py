"""``flexcfl bench``: measure how fast clients train on this machine."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from flexcfl.cli import options
from flexcfl.cli.commands import print_to_stdout

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console
    from rich.progress import TaskID

    from flexcfl.data import Federation

# Rounds, and clients per round, of each workload: about a minute in all.
SHORT = {"W1": (5, 20), "W2": (5, 20), "W3": (2, 4)}


def bench(
    data: options.Data = None,
    rounds: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Number of rounds, of which the median counts. [default: 5, and 2 for the "
            "convolutional network]",
        ),
    ] = None,
) -> None:
    """Measure how fast clients train here, compared with a plain PyTorch loop and the hardware.

    Three models are trained on 20 clients of MNIST as in the paper (the convolutional network on
    4). flexcfl and the loop take turns on the same mini-batches. If MNIST's files are not found,
    the data are noise of the same shape, with the same client sizes. It takes less than a minute;
    close other programs first.
    """
    from rich.console import Console
    from rich.progress import Progress

    from flexcfl.comparison.plan import check_number
    from flexcfl.lines import tell

    if rounds is not None:
        check_number("rounds", rounds)
    from flexcfl.benchmark import WORKS, machine, measure  # last, because it imports torch
    from flexcfl.benchmark.measure import table

    console = Console(stderr=True)
    federation = _federation(data, console)
    tell(machine(), console)
    measured = []
    with Progress(console=console, transient=True) as progress:
        for name, (usual, cohort) in SHORT.items():
            number = rounds or usual
            task = progress.add_task(WORKS[name].title, total=2 * (number + 1))
            work = replace(WORKS[name], cohort=cohort)
            if not console.is_terminal:  # there is no progress bar
                tell(f"measuring {work.title}", console)

            def advance(task: "TaskID" = task) -> None:
                progress.advance(task)

            measured.append(measure(work, federation, number, advance))
    print_to_stdout(table(measured))


def _federation(data: "Path | None", console: "Console") -> "Federation":
    from flexcfl.benchmark.work import WORKS, noise
    from flexcfl.errors import DataError
    from flexcfl.lines import tell

    with console.status("Loading MNIST"):
        try:
            return WORKS["W1"].federation(data)
        except DataError:
            if data is not None:
                raise
    tell(
        "MNIST's files are not here ('flexcfl data fetch mnist' downloads them): measuring on "
        "noise of the same shape.",
        console,
    )
    with console.status("Making noise"):
        return noise()
