"""``flexcfl resume``: go on with what was interrupted."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flexcfl.cli import options

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["resume"]


def resume(
    folder: Annotated[Path, typer.Argument(metavar="DIR", hidden=True)],
    jobs: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="For a comparison: how many runs at once, each in a process of its own on one "
            "core. [default: one per core]",
        ),
    ] = None,
    data: options.Data = None,
    track: options.Track = None,
    quiet: options.Quiet = False,
) -> None:
    """Go on with a run or a comparison, to the same end as if it had never stopped.

    DIR is the folder that 'flexcfl run' or 'flexcfl compare' printed. A run goes on from its last
    checkpoint: its rounds.csv and its models will be, byte for byte, those of a run without
    interruption. 'flexcfl run --help' says when checkpoints are made. A run of 'flexcfl federate'
    goes on over as many nodes as it had.

    Of a comparison, runs that are finished are not done again, those that have begun go on, and
    the others are begun. If all are finished, its table is shown once more.

    With --track, rounds that were done before are logged as well, as far as they were not.
    """
    from rich.console import Console

    from flexcfl.comparison.folder import is_comparison

    console = Console(quiet=quiet)
    if is_comparison(folder):
        _go_on_with_comparison(folder, console, jobs, data, track or [])
    else:
        _go_on_with_run(folder, console, jobs, data, track or [])


def _go_on_with_comparison(
    folder: Path, console: "Console", jobs: int | None, data: Path | None, track: list[str]
) -> None:
    from flexcfl.comparison.conduct import conduct
    from flexcfl.comparison.plan import check_number
    from flexcfl.comparison.spec import ComparisonSpec

    if jobs is not None:
        check_number("jobs", jobs)
    asked = ComparisonSpec.read(folder)
    moved = asked.with_data_in(data) if data else asked
    conduct(moved, console, jobs=jobs, folder=folder, stoppable=True, track=track)


def _go_on_with_run(
    folder: Path, console: "Console", jobs: int | None, data: Path | None, track: list[str]
) -> None:
    from flexcfl.errors import SettingsError
    from flexcfl.experiment.layers import spoken
    from flexcfl.flower.local.conduct import forget, is_local
    from flexcfl.flower.local.conduct import resume as go_on_over_nodes
    from flexcfl.record.state import is_finished, tidy
    from flexcfl.runner.conduct import resume as go_on
    from flexcfl.runner.tracking import trackers

    if jobs is not None:
        raise SettingsError(f"'{folder}' holds no comparison but one run: leave --jobs out.")
    if is_finished(folder):
        tidy(folder)
        forget(folder)
        typer.echo(f"The run in '{folder}' is finished: there is nothing left to do.")
        return
    words = [spoken({"data": data}, {})] if data else []
    if is_local(folder):
        go_on_over_nodes(folder, console, layers=words, track=track)
        return
    go_on(folder, console, layers=words, stoppable=True, callbacks=trackers(track))
