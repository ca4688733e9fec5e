"""``flexcfl run``, ``federate`` and ``resume``: train one federation, here or over a network."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flexcfl.cli import options
from flexcfl.experiment.options import Options

if TYPE_CHECKING:
    from rich.console import Console

    from flexcfl.experiment.layers import Layer


@options.with_settings(Options)
def run(
    settings: "Layer",
    experiment: options.Experiment = None,
    out: options.RunOut = None,
    track: options.Track = None,
    quiet: options.Quiet = False,
) -> None:
    """Train one federation and leave a folder with its settings, figures and models.

    Without arguments it trains FlexCFL on handwritten digits, which need no download, while clients
    swap their data. EXPERIMENT.toml is a file of settings; every run leaves one in its folder.
    Settings come from the dataset's defaults, then the file, then options, then --set; the last one
    wins. 'flexcfl settings' lists them all.

    Ctrl-C ends the round and saves a checkpoint, with which 'flexcfl resume RUN' continues.
    """
    from rich.console import Console

    from flexcfl.experiment import toml
    from flexcfl.experiment.layers import Layer
    from flexcfl.runner.conduct import conduct
    from flexcfl.runner.tracking import trackers

    file = [Layer("file", toml.read(experiment))] if experiment else []
    conduct(
        [*file, settings],
        Console(quiet=quiet),
        folder=out or "new",
        file=experiment,
        stoppable=True,
        callbacks=trackers(track or []),
    )


@options.with_settings(Options)
def federate(
    settings: "Layer",
    experiment: options.Experiment = None,
    nodes: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Number of SuperNodes, which share the clients. [default: network.nodes of the "
            "file, else 2]",
        ),
    ] = None,
    tls: Annotated[
        bool,
        typer.Option(
            "--tls", help="Encrypt, and let in only nodes with a key; all made for this run alone."
        ),
    ] = False,
    port: Annotated[
        int | None,
        typer.Option(metavar="N", help="Port of the SuperLink. [default: one that is free]"),
    ] = None,
    out: options.RunOut = None,
    track: options.Track = None,
    quiet: options.Quiet = False,
) -> None:
    """Train one federation over Flower, with a SuperLink and SuperNodes on this machine.

    It needs flexcfl[flower]. The options are those of 'flexcfl run', EXPERIMENT.toml is a file of
    settings as there, and so are the view and the folder that is left, in which the groups, the
    cohorts and the models are the same as well. Nodes have parts of the dataset; what passes
    between them and the server goes over the network of this machine. For a federation of several
    machines see docs/flower.md.

    A node that ends is started again. If the SuperLink or the server ends, all are started again,
    and the run goes on from its checkpoint, of which there is one after every round. The folder
    logs of the run has what Flower's processes print, missing.csv the clients that did not answer.

    Ctrl-C ends all at once; 'flexcfl resume RUN' goes on, over as many nodes and as safely.
    """
    from rich.console import Console

    from flexcfl.flower.local.federate import federate as run_local

    run_local(
        experiment,
        settings,
        Console(quiet=quiet),
        nodes=nodes,
        out=out,
        port=port,
        tls=tls,
        track=tuple(track or ()),
    )


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
    interruption. A run of 'flexcfl federate'
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
    from flexcfl.comparison.running import run_comparison
    from flexcfl.comparison.spec import ComparisonSpec

    spec = ComparisonSpec.read(folder)
    moved = spec.with_data_in(data) if data else spec
    run_comparison(moved, console, jobs=jobs, folder=folder, stoppable=True, track=track)


def _go_on_with_run(
    folder: Path, console: "Console", jobs: int | None, data: Path | None, track: list[str]
) -> None:
    from flexcfl.errors import SettingsError
    from flexcfl.experiment.layers import spoken
    from flexcfl.flower.local.federate import forget, is_local, resume_local
    from flexcfl.record.lifecycle import is_finished, tidy
    from flexcfl.runner.conduct import resume as go_on
    from flexcfl.runner.tracking import trackers

    if jobs is not None:
        raise SettingsError(f"'{folder}' holds no comparison but one run: leave --jobs out.")
    if is_finished(folder):
        tidy(folder)
        forget(folder)
        typer.echo(f"The run in '{folder}' is finished: there is nothing left to do.")
        return
    layers = [spoken({"data": data})] if data else []
    if is_local(folder):
        resume_local(folder, console, layers=layers, track=track)
        return
    go_on(folder, console, layers=layers, stoppable=True, callbacks=trackers(track))
