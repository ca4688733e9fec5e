"""``flexcfl reproduce``: make the tables and figures of the paper again."""

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
            help="The rows: mnist-mclr, mnist-mlp, mnist-cnn, femnist-mclr, femnist-mlp, "
            "femnist-cnn, synthetic-mclr, fashion-mnist-cnn. [default: those of the paper]",
        ),
    ] = None,
    seeds: Annotated[
        int,
        typer.Option(
            metavar="N", help="Number of seeds, counted from 0. [default: 1]", show_default=False
        ),
    ] = 1,
    rounds: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Number of communication rounds; a table marks runs with fewer than the paper's. "
            "[default: 300]",
        ),
    ] = None,
    jobs: options.Jobs = None,
    limit: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="TIME",
            help="Stop after this time, such as 150m or 2h30m, with checkpoints of unfinished "
            "runs; meanwhile, let other programs go first. [default: until all is done]",
        ),
    ] = None,
    choose: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="A choice that the paper and its code leave open; may be repeated. The names are "
            "below.",
        ),
    ] = None,
    data: options.Data = None,
    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            help="The folder of all runs, tables and figures; finished runs are not done again. "
            "[default: reproduction]",
            show_default=False,
        ),
    ] = Path("reproduction"),
    quiet: options.Quiet = False,
) -> None:
    """Reproduce tables and figures of the FlexCFL paper, and compare them with its numbers.

    [TARGET]... is table1, table2, table3, table4, figure-motivation, figure-accuracy, figure-shift,
    figure-eta, figure-overhead, or one of ours: choices measures the effect of each choice below on
    the paper's numbers, bound compares the convergence bound with measured divergence, algorithms
    has every algorithm on the same cohorts, beyond compares one configuration of ours with the best
    of the tables. Without a target, all are listed.

    'flexcfl reproduce merge DIR... --out DIR' joins the results of several machines: it writes a
    line of figures and curves for each finished run, and makes all tables and figures from these
    lines. A run with such a line is not done again.

    Each cell of a table is a run folder, as 'flexcfl run' writes it. Tables and figures share
    cells, and a finished cell is never run again. Ctrl-C, or the time limit of --for, ends the
    current rounds; the same command resumes them. A table shows every finished run in the folder,
    so rows can be added one by one, with more seeds or with fewer rounds. Tables are printed and
    written as text, Markdown and CSV, figures as SVG and PNG; both with a page of charts of their
    runs.

    \b
    --choose takes these, the default first:
      pretraining=steps|epoch        50 mini-batches as in the code, or the paper's one epoch
      first-model=pretrained|origin  where groups begin
      sharing=convex|additive        inter-group aggregation of the code, or the paper's sum
      averaging=simple|examples      how IFCA and FeSEM weight the clients of a group
      drift=label-share|wasserstein|wasserstein-counts|mmd  how clients notice drift
      cohorts=paper|same             FedAvg and FedProx draw at random, or as the others do
      l2=none|code                   the penalty on weights that the code has
    """  # noqa: D301  (for click, \b means: do not wrap this paragraph)
    from rich.console import Console
    from rich.text import Text

    from flexcfl.comparison.plan import check_number
    from flexcfl.errors import SettingsError
    from flexcfl.lines import Folded, show
    from flexcfl.paper.catalogue import ROUNDS
    from flexcfl.paper.cells import chosen
    from flexcfl.paper.reproducing import make_targets
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
    make_targets(requests, console, jobs=jobs, folder=out, seconds=seconds)
