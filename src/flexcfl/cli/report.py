"""``flexcfl report`` and ``flexcfl watch``: a page with charts of runs, written or live."""

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
        typer.Option(metavar="WORDS", help="Title of the page. [default: what was run]"),
    ] = None,
    open_: Annotated[
        bool, typer.Option("--open", help="Open the page in a browser afterwards.")
    ] = False,
    quiet: options.Quiet = False,
) -> None:
    """Write a page with charts of runs: one file that opens in any browser, also offline.

    RUN... are folders that 'flexcfl run', 'federate', 'compare' or 'reproduce' wrote, or folders
    that contain such folders. Runs with the same data, model, shifts and rounds are compared; runs
    that differ only in their seed are drawn as one line with a band. Unfinished runs are shown with
    the rounds that they have. Runs that cannot be shown are left out, with a note on stderr.

    The page shows the settings; a table of results, ranked by final accuracy, which is the mean of
    the last ten rounds; accuracy, loss and discrepancy over rounds, and accuracy against traffic;
    for each run its groups, the moves of clients between them, the founders of the groups, and the
    label skew; and how to run it again. Each chart's data can be downloaded.
    """
    from rich.console import Console

    from flexcfl.lines import bytes_text, tell
    from flexcfl.report.page.page import write_page
    from flexcfl.runner.console_run import show_loading

    console = Console(quiet=quiet)
    with show_loading(console, "Reading the runs and drawing the page"):
        written = write_page(folders, out, title)
    for sentence in written.left_out:  # even if the console is quiet
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
            help="The port, or the next free one if it is in use; 0 for any. [default: 8000]",
            show_default=False,
        ),
    ] = PORT,
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="The address to listen on; by default only this machine can open the page. "
            "[default: 127.0.0.1]",
            show_default=False,
        ),
    ] = "127.0.0.1",
    open_: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Show the page of 'flexcfl report' in a browser, and update it while runs continue.

    RUN... are folders of runs, or folders that contain runs, as for 'flexcfl report'. Runs of
    'flexcfl federate' can be watched as well, and a run may be interrupted and resumed meanwhile.
    The page asks for updates every two seconds.

    Runs are only read, so watching does not disturb them. Ctrl-C ends it.
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
