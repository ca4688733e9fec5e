"""``flexcfl compare``: run several algorithms on the same clients, and rank them in a table."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flexcfl.cli import options
from flexcfl.experiment.options import SharedOptions

if TYPE_CHECKING:
    from flexcfl.experiment.layers import SettingsLayer


@options.with_settings(SharedOptions)
def compare(
    settings: "SettingsLayer",
    algorithms: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ALGORITHM]...", hidden=True, autocompletion=options.complete_algorithm
        ),
    ] = None,
    seeds: Annotated[
        int,
        typer.Option(
            metavar="N", help="Number of seeds, counted from 0. [default: 3]", show_default=False
        ),
    ] = 3,
    jobs: options.Jobs = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The comparison's folder; a comparison that was begun there is resumed. "
            "[default: a new one under comparisons]",
        ),
    ] = None,
    track: options.Track = None,
    quiet: options.Quiet = False,
) -> None:
    """Run algorithms on the same clients, cohorts and shifts, and rank them in a table.

    [ALGORITHM]... are names such as fedavg flexcfl; 'flexcfl algorithms' lists them. The default is
    fedavg, ifca and flexcfl on a small federation that needs no download, in which some clients
    exchange their data before each round.

    Every algorithm runs with every seed, several runs at a time. All have the same cohorts, which
    visit every client once and are then drawn at random (run.cohorts=round-robin-then-uniform,
    unless set otherwise). A setting that only some of the algorithms have applies to those.

    The table is ranked by final accuracy, the mean of the last ten rounds, and also shows the best
    round. Both are over the rounds in which every algorithm is measured.

    The folder holds one folder per run, as 'flexcfl run' writes it; comparison.csv with a line per
    run; comparison.json with settings, means and standard deviations; and report.html, a page with
    charts.

    Ctrl-C ends the current rounds and says how to resume: 'flexcfl resume DIR', or the same command
    with --out DIR. Finished runs are then not done again, and the others continue from their last
    checkpoints, with the same results. A second Ctrl-C stops at once.
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
