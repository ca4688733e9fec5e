"""``flexcfl data``: list, fetch and inspect datasets."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flexcfl.cli import options
from flexcfl.cli.commands import Command, CommandGroup, example, print_to_stdout

if TYPE_CHECKING:
    from rich.console import RenderableType

    from flexcfl.data.datasets import Dataset
    from flexcfl.data.files import Source

SVG_WIDTH = 110

app = typer.Typer(
    cls=CommandGroup,
    rich_markup_mode=None,
    help="List, fetch and inspect datasets.",
    epilog=example("flexcfl data inspect digits"),
    no_args_is_help=True,
)

# Typer 0.20 loses the help of arguments under newer versions of click, so the help of the commands
# describes NAME.
Name = Annotated[
    str, typer.Argument(metavar="NAME", hidden=True, autocompletion=options.complete_dataset)
]
DataFolder = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="DIR",
        help="Where to look for files first; then come the folder in FLEXCFL_DATA, the user's "
        "cache, and the system's packages.",
    ),
]


@app.command("list", cls=Command, epilog=example("flexcfl data list"))
def list_(data: DataFolder = None) -> None:
    """List all datasets, with a description and where their files are."""
    from flexcfl.data.datasets import DATASETS
    from flexcfl.data.terminal_view import DatasetRow, DatasetTable

    rows = []
    for each in DATASETS.values():
        clients = "any" if each.clients is None else f"{each.clients:,}"
        rows.append(DatasetRow(each.name, each.what, clients, _whereabouts(each, data)))
    print_to_stdout(DatasetTable(rows))


@app.command(cls=Command, epilog=example("flexcfl data fetch mnist"))
def fetch(
    name: Name,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="DIR",
            help="Where to put the files (default: the user's cache, unless one of the folders "
            "that are searched has all of them).",
        ),
    ] = None,
) -> None:
    """Download the files of a dataset, and check them.

    NAME is mnist, femnist or fashion-mnist; the others need no download. Correct files are not
    downloaded again, so the command can be repeated at any time. A file is only put in place when
    it is complete and its checksum is right.
    """
    from flexcfl.data.datasets import dataset_named
    from flexcfl.data.files import cache_folder

    dataset = dataset_named(name)
    source = dataset.source
    if source is None:
        typer.echo(f"There is nothing to fetch for '{name}' ({_whereabouts(dataset, None)}).")
        return
    folder = data or cache_folder()
    complete = None if data else _complete(source)
    fetched = [] if complete else _fetched(name, source, folder)
    some = f"Fetched {len(fetched)} of {len(source.sha256)} files into"
    done = some if fetched else "All files are there already, in"
    typer.echo(f"{done} '{complete or folder / source.folder}'.")


@app.command(
    cls=Command, epilog=example("flexcfl data inspect digits --set partition=iid --svg skew.svg")
)
def inspect(
    name: Name,
    data: DataFolder = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="A setting of the dataset, such as seed=1 (or data.seed=1, as for 'flexcfl "
            "run'); may be repeated.",
        ),
    ] = None,
    svg: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also save the output as an SVG picture."),
    ] = None,
) -> None:
    """Show the clients of a dataset: how many, how large and how different they are.

    NAME is digits, synthetic, clusters, mnist, femnist, fashion-mnist, leaf or npz. The settings
    are printed as well. Image datasets can be divided in other ways: partition=classes (with
    classes_per_client and skew), partition=dirichlet (with concentration) and partition=iid, each
    with clients, test_share and seed. For clusters, clusters=8 is the number of true clusters. For
    leaf, folder=DIR is its folder, and shape=[1,28,28] turns flat examples into images. For npz,
    folder=DIR is a folder with an .npz file for each client; test_share and seed define how files
    without test examples are divided.
    """
    from rich.console import Console

    from flexcfl.data.datasets import dataset_named
    from flexcfl.data.terminal_view import federation_report
    from flexcfl.runner.console_run import show_loading
    from flexcfl.settings import assignments, validated

    dataset = dataset_named(name)
    table = assignments(each.strip().removeprefix("data.") for each in set_ or [])
    options = validated(dataset.options, table, name)
    with show_loading(Console(stderr=True), f"Loading {name}"):
        shown = federation_report(dataset.load(options, data), options)
    print_to_stdout(shown)
    if svg is not None:
        _save(shown, svg, title=f"flexcfl data inspect {name}")


def _whereabouts(dataset: "Dataset[Any]", data: Path | None) -> str:
    from flexcfl.data.files import find_complete, is_forbidden, search_folders

    if dataset.source is None:
        return "no files needed" if dataset.clients else "yours: --set data.folder=DIR"
    looked = search_folders(dataset.source, data)
    paths = find_complete(dataset.source, looked)
    if paths is not None:
        return f"in {next(iter(paths.values())).parent}"
    closed = next(filter(is_forbidden, looked), None)
    return f"unreadable: {closed}" if closed else f"missing: flexcfl data fetch {dataset.name}"


def _complete(source: "Source") -> Path | None:
    """Return the folder that the files are read from, if all of them are correct."""
    from flexcfl.data.fetch import wrong_files
    from flexcfl.data.files import find_complete, search_folders

    paths = find_complete(source, search_folders(source))
    location = next(iter(paths.values())).parent if paths else None
    return location if location and not wrong_files(location, source) else None


def _fetched(name: str, source: "Source", folder: Path) -> list[Path]:
    """Fetch files, on a terminal with a progress bar for each."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn

    from flexcfl.data.fetch import fetch

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    progress = Progress(*columns, console=console, disable=not console.is_terminal)
    bars: dict[str, TaskID] = {}

    def advance(file: str, received: int, total: int) -> None:
        if not bars:  # not earlier: without a bar it prints an empty line
            progress.start()
        if file not in bars:
            bars[file] = progress.add_task(file)
        progress.update(bars[file], completed=received, total=total or None)

    try:
        return fetch(name, folder, advance, {name: source})
    finally:
        if bars:
            progress.stop()


def _save(report: "RenderableType", path: Path, title: str) -> None:
    from io import StringIO

    from rich.console import Console

    from flexcfl.errors import SettingsError

    # A picture has colours whatever the terminal and NO_COLOR say.
    canvas = Console(
        file=StringIO(),
        record=True,
        width=SVG_WIDTH,
        force_terminal=True,
        color_system="truecolor",
        no_color=False,
    )
    canvas.print(report, overflow="fold")  # long words wrap instead of being cut
    try:
        path.write_text(canvas.export_svg(title=title), encoding="utf-8")
    except OSError as error:
        raise SettingsError(
            f"'{path}' cannot be written ({error.strerror}): choose another --svg."
        ) from None
