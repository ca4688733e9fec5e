"""``flexcfl report`` and ``flexcfl watch``: a page to look at, of what is there or as it comes."""

from pathlib import Path
from typing import Annotated

import typer

from flexcfl.cli import options

PORT = 8000


def report(
    folders: options.Runs,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="The file to write. [default: report.html]",
            show_default=False,
        ),
    ] = Path("report.html"),
    title: Annotated[
        str | None,
        typer.Option(metavar="WORDS", help="What the page is called. [default: what was run]"),
    ] = None,
    open_: Annotated[
        bool, typer.Option("--open", help="Open the page in a browser when it is written.")
    ] = False,
    quiet: options.Quiet = False,
) -> None:
    """Write a page with charts of runs: one file that opens in any browser, also offline.

    RUN... are folders that 'flexcfl run', 'federate', 'compare' or 'reproduce' left, or folders
    with such in them. Runs on the same data with the same model, shifts and rounds are held against
    each other; runs that differ in their seed alone are drawn as one line with a band. Runs that
    are not finished are shown as far as they are. Runs within a folder that cannot be shown are
    left out, with a note on stderr.

    The page shows what was run; a table of results, ranked by final accuracy, which is the mean of
    the last ten rounds; accuracy, loss and discrepancy over rounds, and accuracy against traffic;
    for each run its groups, who moved where and when, the founders of its groups, and the label
    skew; and how to run it again. Each chart's data can be downloaded.
    """
    from rich.console import Console

    from flexcfl.lines import bytes_text, tell
    from flexcfl.report.page.page import write_page
    from flexcfl.runner.conduct import loading

    console = Console(quiet=quiet)
    with loading(console, "Reading the runs and drawing the page"):
        written = write_page(folders, out, title)
    for sentence in written.left_out:  # also where nothing else is to be shown
        typer.echo(sentence, err=True)
    number = len(written.runs)
    size = bytes_text(out.stat().st_size)
    tell(f"written: {out} ({number} {'run' if number == 1 else 'runs'}, {size})", console)
    if open_:
        typer.launch(out.resolve().as_uri())


def watch(
    folders: options.Runs,
    port: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            max=65535,
            help="The port; if it is taken the next free one, and 0 for any. [default: 8000]",
            show_default=False,
        ),
    ] = PORT,
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Who can reach the page: by default this machine alone. [default: 127.0.0.1]",
            show_default=False,
        ),
    ] = "127.0.0.1",
    open_: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Show the page of 'flexcfl report' in a browser, and follow runs that go on.

    RUN... are folders of runs, or folders with runs in them, as for 'flexcfl report'; they may be
    runs of 'flexcfl federate', and a run may be interrupted and resumed meanwhile. The page asks
    for what is new every two seconds.

    Runs are only read, so that watching never disturbs them. Ctrl-C ends it.
    """
    from rich.console import Console

    from flexcfl.lines import tell
    from flexcfl.report.page.serving import address, server

    with server(folders, host, port) as serving:
        where = address(serving)
        tell(f"Watching at {where} (Ctrl-C ends it; the runs go on)", Console())
        if open_:
            typer.launch(where)
        serving.serve_forever()
