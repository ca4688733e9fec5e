"""``flexcfl compare``: several algorithms on the same clients, and a table of what came of it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flexcfl.cli import options
from flexcfl.experiment.options import SharedOptions

if TYPE_CHECKING:
    from flexcfl.experiment.layers import Layer


@options.with_settings(SharedOptions)
def compare(
    settings: "Layer",
    algorithms: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ALGORITHM]...", hidden=True, autocompletion=options.complete_algorithm
        ),
    ] = None,
    seeds: Annotated[
        int,
        typer.Option(
            metavar="N", help="How many seeds, counted from 0. [default: 3]", show_default=False
        ),
    ] = 3,
    jobs: options.Jobs = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The comparison's folder; if it was begun there already, it is resumed. "
            "[default: a new one under comparisons]",
        ),
    ] = None,
    track: options.Track = None,
    quiet: options.Quiet = False,
) -> None:
    """Run algorithms on the same clients, cohorts and shifts, and rank them in a table.

    [ALGORITHM]... are names such as fedavg flexcfl; 'flexcfl algorithms' says which there are.
    Without any, fedavg, ifca and flexcfl are compared on a small federation that needs no download,
    some of whose clients exchange their data before each round.

    Every algorithm runs with every seed, several runs at a time. All meet the same cohorts, which
    visit every client once and are then drawn at random (run.cohorts=round-robin-then-uniform,
    unless set otherwise). A setting that only some of the algorithms have is given to those.

    The table is ranked by final accuracy, which is the mean of the last ten rounds; the best round
    stands beside it. Both are over the rounds in which every method is measured.

    The folder holds one run folder per algorithm and seed, each as 'flexcfl run' leaves it,
    comparison.csv with a line per run, comparison.json with settings, means and standard
    deviations, and report.html, a page with charts of everything.

    Ctrl-C ends the rounds that are under way and says how to go on: 'flexcfl resume DIR', or the
    same command with --out DIR. Then runs that are finished are not done again, and others go on
    from their last checkpoints, to the same results. A second Ctrl-C stops at once.
    """
    from rich.console import Console

    from flexcfl.comparison.plan import DEFAULT
    from flexcfl.comparison.running import run_comparison
    from flexcfl.comparison.spec import ComparisonSpec

    named = [name.strip() for each in algorithms or [] for name in each.split(",")]
    run_comparison(
        ComparisonSpec.of(named or DEFAULT, seeds, settings),
        Console(quiet=quiet),
        jobs=jobs,
        folder=out or "new",
        stoppable=True,
        track=track or (),
    )
