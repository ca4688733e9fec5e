"""``flexcfl runs``, ``show`` and ``diff``: list runs, show one run, and compare runs."""

from pathlib import Path
from typing import Annotated

import typer

from flexcfl.cli import options
from flexcfl.cli.commands import print_json, print_to_stdout


def runs(
    folders: Annotated[
        list[Path] | None, typer.Argument(metavar="[FOLDER]...", hidden=True)
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where",
            "-w",
            metavar="KEY=VALUE",
            help="Show only runs that match; also !=, <, <=, > and >=, such as 'final>=0.9'. If "
            "repeated, a run must match all.",
        ),
    ] = None,
    sort: Annotated[
        str | None,
        typer.Option(
            metavar="KEY",
            help="Sort by KEY: figures with the best first, settings ascending; with a dash before "
            "the KEY in reverse. [default: when, the newest first]",
        ),
    ] = None,
    reverse: Annotated[bool, typer.Option("--reverse", help="Reverse the order.")] = False,
    limit: Annotated[
        int | None,
        typer.Option(metavar="N", help="Show at most N runs. [default: all]"),
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json", help="Print one JSON array, with all settings and the summary of each run."
        ),
    ] = False,
) -> None:
    """List runs with their figures: finished, running and interrupted ones.

    [FOLDER]... are folders of runs, or folders that contain runs; the default is 'runs' and
    'comparisons'. Runs with damaged files are left out, with a note on stderr.

    A KEY is a setting, such as local.rate; the name of its option, such as algorithm, dataset,
    model, shift, seed, rounds or rate; folder, state (finished, running, interrupted) or when (such
    as 'when>=2026-11-18'); or one of the figures:

    \b
      final, best, median    accuracies, as fractions (0.9) or in percent (90%);
                             final is the mean of the last ten rounds
      honest, newcomers      final accuracies of clients that do not attack, or
                             that came later
      auxiliary              final accuracy of the auxiliary model
      loss, discrepancy, seconds, epsilon
      traffic                model transfers as a multiple of FedAvg's
      transfers, down_bytes, up_bytes
      migrations, shifted, detected, placed_again    clients, over all rounds
      done                   number of rounds done
      clients, parameters, group_count, adjusted_rand_index, silhouette

    An unfinished run is listed with its figures so far. A KEY in --where or --sort gets its own
    column. In a pipe each run is one line, with all columns.
    """  # noqa: D301  (for click, \b means: do not wrap this paragraph)
    from flexcfl.report.history.finding import History, folders_of_runs
    from flexcfl.report.history.list_view import ListView
    from flexcfl.report.history.rows import keys_in

    history = History.of(folders_of_runs(folders or []))
    for sentence in history.left_out:
        typer.echo(sentence, err=True)
    rows = history.view(where or [], sort, reverse, limit)
    if as_json:
        print_json([row.content() for row in rows])
    elif rows:
        print_to_stdout(ListView(rows, keys_in(where or [], sort)))
    else:
        typer.echo(f"None of {len(history.rows)} runs matches.", err=True)


def show(
    folder: options.Run,
    as_json: options.AllAsJson = False,
) -> None:
    """Show one run: its settings, figures, groups, traffic and files.

    RUN is the folder of a run, which 'flexcfl run' printed and 'flexcfl runs' lists. Settings that
    differ from the defaults of its dataset and algorithm are in bold, followed by the default. An
    unfinished run is shown with the rounds that it has; if it was interrupted, the command to
    resume it is shown as well.
    """
    from rich.console import Console

    from flexcfl.report.history.details_view import show_run
    from flexcfl.report.history.run_details import details

    run = details(folder)
    if as_json:
        print_json(run.content())
        return
    show_run(run, Console(highlight=False))


def diff(
    folders: Annotated[list[Path], typer.Argument(metavar="RUN RUN...", hidden=True)],
    all_: Annotated[bool, typer.Option("--all", help="Also show settings that are equal.")] = (
        False
    ),
    as_json: options.AllAsJson = False,
) -> None:
    """Compare two or more runs: settings, figures, accuracy by round, versions.

    RUN RUN... are folders of runs, finished or not. Each figure is followed by its difference to
    the first run, for accuracies in percentage points. A line says in which round accuracies first
    differ, or that they are the same to the last digit.

    The exit code is 0 whether runs differ or not: use --json to test for differences.
    """
    from flexcfl.report.history.diff import DiffView, difference
    from flexcfl.report.history.run_details import details

    found = difference([details(folder) for folder in folders])
    if as_json:
        print_json(found.content())
        return
    print_to_stdout(DiffView(found, all_))
