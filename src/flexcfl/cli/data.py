"""``flexcfl data``: which datasets there are, how to get them, and what they look like."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from flexcfl.data.catalogue import Dataset
    from flexcfl.data.sources import Source

__all__ = ["app"]

SVG_WIDTH = 110

app = typer.Typer(
    help="List, fetch and inspect datasets.",
    epilog="Example: flexcfl data inspect digits",
    no_args_is_help=True,
)

# Typer 0.20 loses the help of arguments under newer versions of click, so the commands' own help
# tells about NAME.
Name = Annotated[str, typer.Argument(metavar="NAME", hidden=True)]
DataFolder = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="DIR",
        help="Where files are looked for first; then come the folder that FLEXCFL_DATA names, the "
        "user's cache, and the system's own packages.",
        show_default=False,
    ),
]


@app.command("list", epilog="Example: flexcfl data list --data DIR")
def list_(data: DataFolder = None) -> None:
    """Show every dataset, what it is, and where its files are."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from flexcfl.data.catalogue import DATASETS

    table = Table(box=None, pad_edge=False)
    table.add_column("name", style="bold", overflow="fold")
    table.add_column("what it is", overflow="fold")
    table.add_column("clients", justify="right", overflow="fold")
    table.add_column("files", overflow="fold")
    for dataset in DATASETS.values():
        clients = f"{dataset.clients:,}" if dataset.clients else "any"
        files = Text(_whereabouts(dataset, data))  # a path may look like markup
        table.add_row(dataset.name, dataset.what, clients, files)
    Console().print(table)


@app.command(epilog="Example: flexcfl data fetch mnist")
def fetch(
    name: Name,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="DIR",
            help="Where to put the files (default: the user's cache).",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Download the files of a dataset, and check them.

    NAME is mnist, femnist or fashion-mnist; the others need no download. Files that are there and
    right are left alone, so that it can be run again at any time. A file takes its place only when
    it is complete and its checksum is right.
    """
    from rich.console import Console

    from flexcfl.data.catalogue import dataset_named
    from flexcfl.data.files import cache

    console = Console()
    dataset = dataset_named(name)
    if dataset.source is None:
        _say(console, f"There is nothing to fetch for '{name}' ({_whereabouts(dataset, None)}).")
        return
    folder = data or cache()
    fetched = _fetched(name, dataset.source, folder, console)
    some = f"Fetched {len(fetched)} of {len(dataset.source.sha256)} files into"
    done = some if fetched else "All files are there already, in"
    _say(console, f"{done} '{folder / dataset.source.folder}'.")


@app.command(epilog="Example: flexcfl data inspect digits --set partition=iid --svg skew.svg")
def inspect(
    name: Name,
    data: DataFolder = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="A setting of the dataset, such as seed=1; may be repeated.",
            show_default=False,
        ),
    ] = None,
    svg: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Save what is shown as an SVG picture too.", show_default=False
        ),
    ] = None,
) -> None:
    """Show the clients of a dataset: how many, how large, how unlike.

    NAME is digits, synthetic, mnist, femnist, fashion-mnist or leaf. The settings in force are
    printed. Those with images can be divided in other ways: partition=classes (with
    classes_per_client and skew), partition=dirichlet (with concentration) and partition=iid, each
    with clients, test_share and seed.
    """
    from rich.console import Console

    from flexcfl.data.catalogue import dataset_named
    from flexcfl.data.display import report
    from flexcfl.settings import assignments, validated

    dataset = dataset_named(name)
    options = validated(dataset.options, assignments(set_ or []), name)
    shown = report(dataset.load(options, data), options)
    Console().print(shown)
    if svg is not None:
        _save(shown, svg, title=f"flexcfl data inspect {name}")


def _whereabouts(dataset: "Dataset[Any]", data: Path | None) -> str:
    from flexcfl.data.files import located, places

    if dataset.source is None:
        return "no files needed" if dataset.clients else "yours: --set folder=DIR"
    paths = located(dataset.source, places(dataset.source, data))
    if paths is None:
        return f"missing: flexcfl data fetch {dataset.name}"
    return f"in {next(iter(paths.values())).parent}"


def _fetched(name: str, source: "Source", folder: Path, console: "Console") -> list[Path]:
    """Fetch files under one progress bar each."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn

    from flexcfl.data.fetch import fetch

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, console=console) as progress:
        bars: dict[str, TaskID] = {}

        def show(file: str, received: int, total: int) -> None:
            if file not in bars:
                bars[file] = progress.add_task(file)
            progress.update(bars[file], completed=received, total=total or None)

        return fetch(name, folder, show, {name: source})


def _say(console: "Console", sentence: str) -> None:
    console.print(sentence, markup=False, highlight=False, soft_wrap=True)


def _save(report: "RenderableType", path: Path, title: str) -> None:
    from io import StringIO

    from rich.console import Console

    from flexcfl.errors import SettingsError

    # A picture has its colours whatever the terminal and NO_COLOR say.
    canvas = Console(
        file=StringIO(),
        record=True,
        width=SVG_WIDTH,
        force_terminal=True,
        color_system="truecolor",
        no_color=False,
    )
    canvas.print(report)
    try:
        path.write_text(canvas.export_svg(title=title), encoding="utf-8")
    except OSError as error:
        raise SettingsError(
            f"'{path}' cannot be written ({error.strerror}): choose another --svg."
        ) from None
