"""``flexcfl reproduce``: the tables and figures of the paper, made again."""

from pathlib import Path
from typing import Annotated

import typer

from flexcfl.cli import options

MERGE = "merge"


def reproduce(
    targets: Annotated[list[str] | None, typer.Argument(metavar="[TARGET]...", hidden=True)] = None,
    only: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,...",
            help="Which rows: mnist-mclr, mnist-mlp, mnist-cnn, femnist-mclr, femnist-mlp, "
            "femnist-cnn, synthetic-mclr, fashion-mnist-cnn. [default: those of the paper]",
        ),
    ] = None,
    seeds: Annotated[
        int,
        typer.Option(
            metavar="N", help="How many seeds, counted from 0. [default: 1]", show_default=False
        ),
    ] = 1,
    rounds: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Number of communication rounds; a table marks what has fewer than the paper's. "
            "[default: 300]",
        ),
    ] = None,
    jobs: options.Jobs = None,
    limit: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="TIME",
            help="Stop after so long, such as 150m or 2h30m, with checkpoints of what is under "
            "way, and let other programs go first meanwhile. [default: until all is done]",
        ),
    ] = None,
    choose: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="What the paper and its code leave open; may be repeated. The names are below.",
        ),
    ] = None,
    data: options.Data = None,
    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            help="The folder of all runs, tables and figures; what is finished in it is not run "
            "again. [default: reproduction]",
            show_default=False,
        ),
    ] = Path("reproduction"),
    quiet: options.Quiet = False,
) -> None:
    """Make tables and figures of the FlexCFL paper again, with the paper's numbers beside ours.

    [TARGET]... is table1, table2, table3, table4, figure-motivation, figure-accuracy, figure-shift,
    figure-eta, figure-overhead, or one of ours: choices measures what each choice below does to
    the paper's numbers, bound holds the convergence bound against measured divergence, algorithms
    has every algorithm on the same cohorts, beyond compares one configuration of ours with the best
    of the tables. Several share their runs. Without any, they are listed.

    'flexcfl reproduce merge DIR... --out DIR' joins what several machines have made: it writes a
    line of figures and curves for each finished run and makes all tables and figures from these
    lines. A run with such a line is not done again.

    Each cell is a run folder, as 'flexcfl run' leaves it; tables and figures share cells, and those
    that are finished are never run again. Ctrl-C, or the end of the time that --for gives, ends the
    rounds that are under way; the same command goes on. A table shows all that is finished in the
    folder: rows can be added one by one, with more seeds or with fewer rounds. It is printed and
    written as text, Markdown and CSV, a figure as SVG and PNG; either with a page of charts of its
    runs.

    \b
    --choose takes these, the default first:
      pretraining=steps|epoch        50 mini-batches as in the code, or the paper's one epoch
      first-model=pretrained|origin  where groups begin
      sharing=convex|additive        inter-group aggregation of the code, or the paper's sum
      averaging=simple|examples      how IFCA and FeSEM count the clients of a group
      drift=label-share|wasserstein|wasserstein-counts|mmd  how clients notice drift
      cohorts=paper|same             FedAvg and FedProx draw at random, or as the others do
      l2=none|code                   the penalty on weights that the code has
    """  # noqa: D301  (click reads the character as: keep these lines)
    from rich.console import Console
    from rich.text import Text

    from flexcfl.comparison.plan import check_number
    from flexcfl.errors import SettingsError
    from flexcfl.lines import Folded, show
    from flexcfl.paper.catalogue import ROUNDS
    from flexcfl.paper.cells import chosen
    from flexcfl.paper.conduct import conduct
    from flexcfl.paper.targets import TARGETS, Request
    from flexcfl.settings import assignments, seconds_of

    console = Console(quiet=quiet)
    if not targets:
        for name, each in TARGETS.items():
            show(Folded(Text(each.summary), Text(f"{name:18}  ")), console)
        return
    if targets[0] == MERGE:
        from flexcfl.paper.merging import merge

        if len(targets) == 1:
            raise SettingsError("There is nothing to merge: name the folders of reproductions.")
        merge([Path(name) for name in targets[1:]], out, console)
        return
    for name, number in (("seeds", seeds), ("jobs", jobs)):
        if number is not None:
            check_number(name, number)
    rows = tuple(name.strip() for name in (only or "").split(",") if name.strip())
    if only is not None and not rows:
        raise SettingsError("--only names no row: name some, such as mnist-mclr, or leave it out.")
    given = chosen(assignments(choose or [], example="sharing=additive"))
    length = ROUNDS if rounds is None else rounds
    requests = [Request(name, rows, seeds, length, given, data) for name in dict.fromkeys(targets)]
    seconds = None if limit is None else seconds_of(limit)
    conduct(requests, console, jobs=jobs, folder=out, seconds=seconds)
