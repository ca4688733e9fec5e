"""``flexcfl bench``: how fast clients train on this machine."""

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

# Work, rounds and clients in a round: what takes about a minute in all.
SHORT = {"W1": (5, 20), "W2": (5, 20), "W3": (2, 4)}


def bench(
    data: options.Data = None,
    rounds: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Rounds to take the median of. [default: 5, and 2 for the convolutional one]",
        ),
    ] = None,
) -> None:
    """Measure how fast clients train here, beside a plain PyTorch loop and the machine's limit.

    Three models train 20 clients of MNIST as in the paper (the convolutional one 4), flexcfl and
    the loop in turns on the same mini-batches. Where MNIST's files are not found, noise of the same
    shape and over clients of the same sizes takes their place. It takes less than a minute;
    close what else is at work.
    """
    from rich.console import Console
    from rich.progress import Progress

    from flexcfl.comparison.plan import check_number
    from flexcfl.lines import tell

    if rounds is not None:
        check_number("rounds", rounds)
    from flexcfl.benchmark import WORKS, machine, measure  # after that, for it imports torch
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
            if not console.is_terminal:  # where no bar is drawn
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
        "MNIST's files are not here ('flexcfl data fetch mnist' brings them): measuring on noise "
        "of the same shape.",
        console,
    )
    with console.status("Making noise"):
        return noise()
